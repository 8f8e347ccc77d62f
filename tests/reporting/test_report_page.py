"""The page in a real browser: nothing of it is wider than the window, and the charts are painted."""

from __future__ import annotations

import re
import struct
import subprocess
from pathlib import Path

import pytest
from summaries import answered, summary

from memassay.reporting import write_reports

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--virtual-time-budget=2000",
)  # fmt: skip
PROBE = """<script>
const box = document.documentElement, charts = [...document.querySelectorAll('svg.chart')];
const shown = charts.filter(c => c.getBoundingClientRect().width > 0);
box.dataset.probe = [box.scrollWidth, innerWidth, shown.length,
  Math.max(...shown.map(c => c.getBoundingClientRect().right)) <= innerWidth,
  [...document.querySelectorAll('.chart text')].every(t => { const r = t.getBoundingClientRect();
    return r.width === 0 || (r.left >= 0 && r.right <= innerWidth); })].join(' ');
</script>"""

pytestmark = [
    pytest.mark.peer,
    pytest.mark.skipif(not CHROMIUM.exists(), reason="needs chromium at /usr/bin/chromium"),
]


def long_names() -> dict:
    made = summary(4)
    made["arms"] = {f"a-memory-with-quite-a-long-name-{i}-记忆": arm for i, arm in enumerate(made["arms"].values())}
    made["notes"] = ["x" * 400, "https://example.org/" + "y" * 300]
    return made


CASES = ("three", "eight", "sample", "long", "answers", "scripted")
PHONE = [pytest.param(case, 500, id=f"{case}-500") for case in CASES]
# What fits a phone fits a desk, unless the wide layout is at fault: the widest of each kind of page looks after that.
DESK = [
    pytest.param(case, 1280, id=f"{case}-1280", marks=() if case in ("long", "answers") else pytest.mark.slow)
    for case in CASES
]


@pytest.mark.parametrize(("case", "width"), PHONE + DESK)
def test_no_horizontal_overflow(tmp_path: Path, case: str, width: int) -> None:
    made = {
        "three": lambda: summary(3),
        "eight": lambda: summary(8, unmeasured=True, primary=False),
        "sample": lambda: summary(2, sample=True),
        "long": long_names,
        "answers": answered,
        "scripted": lambda: answered("scripted", audited=False),
    }[case]()
    _, report = write_reports(tmp_path, made)
    # A copy without the policy, so that the probe may run; the page itself has no script. A headless window is never
    # narrower than 500, so a phone is an inner frame of 390.
    copy = re.sub(r"<meta http-equiv[^>]*>", "", report.read_text("utf-8")).replace("</body>", PROBE + "</body>")
    (tmp_path / "copy.html").write_text(copy, "utf-8")
    target = tmp_path / "copy.html"
    inner = width
    if width == 500:
        inner = 390
        target = tmp_path / "phone.html"
        target.write_text(
            "<!doctype html><style>body{margin:0}</style><iframe src=copy.html width=390 height=900 frameborder=0 "
            'onload="document.documentElement.dataset.probe='
            'this.contentDocument.documentElement.dataset.probe"></iframe>',
            "utf-8",
        )
    dom = run(tmp_path, f"--window-size={width},900", "--allow-file-access-from-files", "--dump-dom", target.as_uri())
    probe = re.search(r'data-probe="([^"]*)"', dom)
    assert probe, "the probe ran"
    scroll, window, shown, charts_fit, labels_fit = probe[1].split()
    assert int(window) == inner
    assert int(scroll) <= int(window)
    assert int(shown) == 3
    assert charts_fit == "true"
    assert labels_fit == "true"


def test_a_screenshot_is_painted(tmp_path: Path) -> None:
    _, report = write_reports(tmp_path, summary(3))
    sizes = []
    for width in (1280, 500):
        shot = tmp_path / f"{width}.png"
        run(tmp_path, f"--window-size={width},1600", f"--screenshot={shot}", report.as_uri())
        data = shot.read_bytes()
        assert data.startswith(b"\x89PNG")
        assert struct.unpack(">II", data[16:24]) == (width, 1600)
        sizes.append(len(data))
    assert min(sizes) > 30_000, "a blank page of this size is a few kilobytes"


def run(tmp_path: Path, *arguments: str) -> str:
    done = subprocess.run(
        [str(CHROMIUM), *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout
