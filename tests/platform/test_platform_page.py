"""The reviewer's page in a real browser: a whole review, texts that are markup, and nothing wider than the window."""

from __future__ import annotations

import json
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra platform is not installed")

import anyio
from platform_kit import CUSTOMERS, FACT, ORDERS
from serving_kit import KEYS, Live, Speaker
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memassay.platform.shapes import Entity

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-proxy-server",
)  # fmt: skip
MARKUP = "<img src=x onerror=\"document.title='broken'\"> <script>document.title='broken'</script> of harbour reviews"

pytestmark = [
    pytest.mark.peer,
    pytest.mark.skipif(not CHROMIUM.exists(), reason="needs chromium at /usr/bin/chromium"),
]

# The page in a frame, and a hand that presses its buttons. `see` waits until a text stands in the page. The picture
# keeps the browser from calling the page loaded, and so from ending, until all is done.
PROBE = """<!doctype html><style>body{margin:0}iframe{border:0;display:block}</style>
<iframe src="/review" width="WIDTH" height="2000"></iframe><img src="/hold" hidden><script>
const found = {};
const page = () => document.querySelector('iframe').contentDocument;
const until = async (what, name) => {
  for (let i = 0; i < 400; i++) { const it = what(); if (it) return it; await new Promise(r => setTimeout(r, 25)); }
  throw new Error('never: ' + name + ' in: ' + page().body.innerText);
};
const see = text => until(() => page().body.innerText.includes(text), text);
const press = async (text, root) => {
  const its = () => [...(root || page()).querySelectorAll('button')].find(
    b => b.textContent.trim().startsWith(text) && !b.disabled && b.getClientRects().length);
  (await until(its, text)).click();
};
const card = text => [...page().querySelectorAll('article')].find(a => a.innerText.includes(text));
const labelled = (text, root) => root.querySelector('#' + [...root.querySelectorAll('label')].find(
  l => l.textContent.startsWith(text)).htmlFor);
const fill = (text, root, value) => {
  const it = labelled(text, root); it.value = value; it.dispatchEvent(new Event('change'));
};
const wide = () => [page().documentElement.scrollWidth, document.querySelector('iframe').contentWindow.innerWidth];
const enter = async key => {
  await until(() => page() && page().getElementById('key') && page().querySelector('#enter:not([hidden])'), 'form');
  page().getElementById('key').value = key; await press('Sign in');
};
(async () => {
  try { STEPS } catch (problem) { found.problem = String(problem.stack || problem); }
  await fetch('/found', {method: 'POST', body: JSON.stringify(found)});
})();
</script>"""


class Browser:
    """Chromium over a server whose page may stand in a frame of the test's own."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._probe, self._found = folder, "", anyio.Event()
        self._told: Any = None
        self.live = Live(folder / "memory", wrap=self._wrapped)

    def _wrapped(self, app: ASGIApp) -> ASGIApp:
        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            async def framed(message: Message) -> None:
                if message["type"] == "http.response.start":
                    message["headers"] = [
                        (name, value.replace(b"frame-ancestors 'none'", b"frame-ancestors 'self'"))
                        for name, value in message["headers"]
                    ]
                await send(message)

            match scope.get("path"):
                case "/probe":
                    self._found = anyio.Event()
                    await HTMLResponse(self._probe)(scope, receive, send)
                case "/hold":
                    await self._found.wait()
                    await Response(status_code=404)(scope, receive, send)
                case "/found":
                    self._told = await Request(scope, receive).json()
                    self._found.set()
                    await Response()(scope, receive, send)
                case _:
                    await app(scope, receive, framed)

        return answer

    def play(self, steps: str, width: int = 1000, *flags: str) -> Any:
        """What the steps found."""
        self._told = None
        self._probe = PROBE.replace("WIDTH", str(width)).replace("STEPS", steps)
        self._run("--window-size=1280,2000", *(flags or ["--dump-dom"]))
        assert self._told is not None, "the probe ran"
        assert "problem" not in self._told, self._told["problem"]
        return self._told

    def shoot(self, steps: str, width: int, shot: Path, *flags: str) -> bytes:
        self.play(steps, width, f"--window-size={max(width, 500)},1400", f"--screenshot={shot}", *flags)
        return shot.read_bytes()

    def _run(self, *arguments: str) -> None:
        profile = self._folder / "profile"
        command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={profile}", *arguments, f"{self.live.url}/probe"]
        subprocess.run(command, capture_output=True, timeout=120, check=True)


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    made = Browser(tmp_path)
    yield made
    made.live.close()


def enter(name: str) -> str:
    return f"await enter({json.dumps(KEYS[name])});"


def fill_queue(ada: Speaker) -> dict[str, str]:
    texts = {"fact": FACT, "markup": MARKUP, "long": "Glimmer " + "x" * 900, "other": "Refunds are booked at night."}
    return {
        name: ada.capture(text, *([CUSTOMERS] if name == "other" else [ORDERS, CUSTOMERS]))
        for name, text in texts.items()
    }


def test_a_whole_review(browser: Browser) -> None:
    ids = fill_queue(browser.live.speaker("ada"))
    browser.live.spaces.main.put_entities([Entity(urn=ORDERS, name="orders", description="Orders.")])
    reviewer = browser.live.speaker("reviewer")
    found = browser.play(
        enter("reviewer")
        + """
        await see('zorblat');
        found.markup = card('onerror').querySelectorAll('img, script').length;
        fill('Notes', card('zorblat'), 'Checked with sales.');
        await press('Approve', card('zorblat'));
        await see('Approved.');
        await until(() => !card('zorblat'), 'gone');
        fill('Notes', card('Refunds'), 'Not so.');
        await press('Reject', card('Refunds'));
        await press('Yes, reject', card('Refunds'));
        await see('Rejected.');
        found.count = page().querySelector('nav').innerText.replace(/\\s+/g, ' ');
        await press('Approved');
        await until(() => card('zorblat'), 'approved');
        await press('Apply', card('zorblat'));
        await see('Now: Orders.');
        found.offered = labelled('New description', card('zorblat')).value;
        fill('New description', card('zorblat'), 'Orders. A zorblat order is above three hundred units.');
        [...card('zorblat').querySelectorAll('button')].find(b => b.textContent === 'Apply').click();
        await see('Applied to ');
        await press('Changes');
        await see('update description');
        found.change = card('update description').innerText;
        found.audit = page().querySelector('[data-part=audit]').hidden;
        found.title = page().title;
        """
    )
    assert found["markup"] == 0 and found["title"] == "Review"
    assert found["count"] == "Pending (2) Approved (1) Changes"
    assert found["offered"] == "Orders.\n" + FACT, "what stands there is not lost"
    assert "Orders. A zorblat order" in found["change"] and "reviewer@example.org" in found["change"]
    assert found["audit"] is True, "a reviewer is no admin"
    insights = {one["id"]: one for one in reviewer.get("/admin/knowledge/insights")["data"]}
    assert {name: insights[id]["status"] for name, id in ids.items()} == {
        "fact": "applied", "other": "rejected", "markup": "pending", "long": "pending"
    }  # fmt: skip
    assert insights[ids["fact"]]["review_notes"] == "Checked with sales."
    assert insights[ids["other"]]["review_notes"] == "Not so."


def test_apply_to_a_page_roll_back_and_the_audit(browser: Browser) -> None:
    fill_queue(browser.live.speaker("ada"))
    admin = browser.live.speaker("admin")
    found = browser.play(
        enter("admin")
        + """
        await see('zorblat');
        await press('Approve', card('zorblat'));
        await press('Approved (1');
        await until(() => card('zorblat'), 'approved');
        await press('Apply', card('zorblat'));
        card('zorblat').querySelector('input[value=knowledge_page]').click();
        fill('Slug', card('zorblat'), 'Not A Slug');
        fill('Title', card('zorblat'), 'Zorblat orders');
        const go = () => [...card('zorblat').querySelectorAll('button')].find(b => b.textContent === 'Apply').click();
        go();
        await see('Body: ');
        found.refused = page().getElementById('said').textContent;
        fill('Slug', card('zorblat'), 'zorblat-orders');
        await until(() => ![...card('zorblat').querySelectorAll('button')].some(b => b.disabled), 'free');
        go();
        await see('Applied to the page zorblat-orders.');
        await press('Changes');
        await see('kp:zorblat-orders');
        await press('Roll back');
        await press('Yes, roll back');
        await see('the insights are pending again');
        await see('rolled back by admin@example.org');
        await press('Pending');
        await until(() => card('zorblat'), 'pending again');
        await press('History', card('zorblat'));
        await see('rollback');
        found.history = card('zorblat').querySelector('.events').innerText;
        await press('Audit');
        await see('rollback_changeset');
        found.rows = page().querySelectorAll('tbody tr').length;
        await press('Sign out');
        await until(() => page().querySelector('#enter:not([hidden])'), 'signed out');
        found.kept = Object.keys(sessionStorage).length + Object.keys(localStorage).length;
        """
    )
    assert "slug" in found["refused"]
    assert [line.split(" · ")[1] for line in found["history"].splitlines() if " · " in line] == [
        "capture", "approve", "apply", "rollback"
    ]  # fmt: skip
    assert found["rows"] == admin.get("/admin/audit/events")["total"]
    assert found["kept"] == 0
    assert admin.get("/portal/knowledge-pages")["total"] == 0


def test_wrong_keys_are_told_so(browser: Browser) -> None:
    found = browser.play(
        "await enter('no-such-key'); await see('The key is unknown.');"
        + enter("ada")
        + """
        await see('a reviewer');
        found.desk = page().getElementById('desk').hidden;
        found.kept = Object.keys(sessionStorage).length;
        """
    )
    assert found == {"desk": True, "kept": 0}


@pytest.mark.slow
@pytest.mark.parametrize("width", (1280, 390))
def test_nothing_is_wider_than_the_window(browser: Browser, width: int) -> None:
    fill_queue(browser.live.speaker("ada"))
    found = browser.play(
        enter("admin")
        + """
        await see('zorblat'); found.pending = wide();
        await press('Approve', card('zorblat')); await press('Approved (1');
        await until(() => card('zorblat'), 'approved'); await press('Apply', card('zorblat'));
        await see('New description'); found.applying = wide();
        await press('Audit'); await see('platform_info'); found.audit = wide();
        """,
        width,
    )
    for name, (scroll, window) in found.items():
        assert window == width, name
        assert scroll <= window, name


@pytest.mark.slow
@pytest.mark.parametrize("flags", ([], ["--force-dark-mode", "--enable-features=WebContentsForceDark"]))
def test_a_screenshot_is_painted(browser: Browser, tmp_path: Path, flags: list[str]) -> None:
    fill_queue(browser.live.speaker("ada"))
    data = browser.shoot(enter("admin") + "await see('zorblat');", 1280, tmp_path / "shot.png", *flags)
    assert struct.unpack(">II", data[16:24]) == (1280, 1400)
    assert len(data) > 30_000, "a blank page of this size is a few kilobytes"
