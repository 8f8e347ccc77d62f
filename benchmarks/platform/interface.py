"""Schemathesis against the platform's OpenAPI document: as nobody, and in each of the three roles.

    make check-api

The platform is a process of its own on a free port, with a folder, keys and a few records that are made anew; half of
the ids that are asked for are there. The seed is fixed. A pass fails where schemathesis finds anything (an answer with
5xx, one whose status, type or shape the document does not name, and what else ``ANSWERS`` and ``TAKES`` hold), where
somebody without a key gets anything but 401, or where a role gets anything but 403 of what it may not do.

Schemathesis has a virtual environment of its own (``requirements-api.lock``): 27 packages that nobody else needs.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import re
import secrets
import subprocess
import sys
import tempfile
import time
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import httpx2

from memassay.platform import rest
from memassay.platform.service import Platform
from memassay.platform.settings import Settings
from memassay.platform.shapes import Caller, CaptureRequest, Change, Identity, PageDraft

SEED = 20261130
NOBODY, ROLES = "nobody", ("agent", "reviewer", "admin")
ANSWERS = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance",
    "response_schema_conformance",
)  # fmt: skip
"""What is checked of every answer."""
TAKES = (
    "negative_data_rejection", "positive_data_acceptance", "unsupported_method", "allow_header_conformance",
    "ignored_auth",
)  # fmt: skip
"""What is checked beside it where nothing is refused for the role's sake."""
IDS = {
    **{name: {"path.id": "insights"} for name in ("getInsight", "editInsight", "setInsightStatus")},
    **{name: {"path.id": "changesets"} for name in ("getChangeset", "rollbackChangeset")},
    **{name: {"path.id": "pages"} for name in ("getPage", "editPage")},
    "getEntity": {"query.urn": "entities"},
    "listHistory": {"query.record_id": "insights"},
    "applyInsights": {"body.insight_ids[*]": "insights", "body.entity_urn": "entities"},
}
UNSAID = "applyInsights"
"""May refuse what its shape allows: which target a change may have hangs on its kind and on the entity's URN."""
ACCEPTED = ["2xx", "400", "401", "403", "404", "409"]
INSIGHTS = 90
MOST_SHOWN, MOST_SAID = 10, 8_000
REPORT, LOG = "requests.har", "server.log"
SETTINGS = Settings(embedder="hash", supersede=1.0, durable=False)
URN = "urn:li:dataset:(urn:li:dataPlatform:trino,warehouse.main.orders,PROD)"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schemathesis", type=Path, required=True, help="its command")
    parser.add_argument("--examples", type=int, default=15, help="requests per operation and phase, at most")
    parser.add_argument("--seed", type=int, default=SEED, help="another one sends other requests")
    parser.add_argument("--only", choices=(NOBODY, *ROLES), help="one pass")
    given = parser.parse_args()
    began, found, passes = time.monotonic(), 0, [given.only] if given.only else [NOBODY, *ROLES]
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        keys = {role: secrets.token_hex(16) for role in ROLES}
        (place / "schemathesis.toml").write_text(configuration(fill(place / "memory", keys)))
        with served(place) as url:
            admin = {"Authorization": f"Bearer {keys['admin']}"}
            document = httpx2.get(f"{url}{rest.PREFIX}/openapi.json", headers=admin, trust_env=False)
            (place / "openapi.json").write_bytes(document.content)
            for role in passes:
                command = [str(given.schemathesis.absolute()), *options(url, role, given.examples, given.seed)]
                if role != NOBODY:
                    command.append(f"--header=Authorization: Bearer {keys[role]}")
                found += not passed(role, command, place)
        if found:
            print((place / LOG).read_text()[-MOST_SAID:])
    about = f"{len(rest.ENDPOINTS)} operations, {time.monotonic() - began:.0f} s, seed {given.seed}"
    print(f"{found} of {len(passes)} passes found something ({about})")
    return 1 if found else 0


def passed(role: str, command: Sequence[str], place: Path) -> bool:
    """Make one pass and print what came of it."""
    done = subprocess.run(command, cwd=place, capture_output=True, text=True)
    asked = requests(place / REPORT)
    strange = [line for one in asked if (line := wrong(role, *one))]
    fine = bool(done.returncode == 0 and asked and not strange)
    counts = collections.Counter(status for _, _, status in asked)
    shown = "  ".join(f"{status}: {count}" for status, count in sorted(counts.items()))
    print(f"{role:<9} {'ok' if fine else 'FOUND':<6} {len(asked):>5} requests  {shown}", flush=True)
    for line in [*strange[:MOST_SHOWN], *([done.stdout, done.stderr] if done.returncode else [])]:
        print(line)
    return fine


def fill(folder: Path, keys: Mapping[str, str]) -> dict[str, list[str]]:
    """Make a workspace with somebody of each role in it, and with some of everything; returns what is there."""
    with Platform(folder, SETTINGS) as platform:
        who = {role: Identity(user_id=role, email=f"{role}@example.org", name=role, roles=(role,)) for role in ROLES}
        for role, key in keys.items():
            platform.add_identity(key, who[role])
        agent, admin = (
            Caller(identity=who[role], session=platform.platform_info(who[role]).session_id, purpose="A check.")
            for role in ("agent", "admin")
        )
        insights, changesets, pages = [], [], []
        for number in range(INSIGHTS):
            text = f"Rule {number} says that {number} crates go on pallet {number}."
            request = CaptureRequest(type="business_knowledge", content=text, entity_urns=(URN,))
            insights.append(str(platform.memory_capture(agent, request).id))
            if number % 3 == 0:
                page = PageDraft(slug=f"rule-{number}", title=text, summary=text, body=text, force_new=True)
                done = platform.knowledge_apply(admin, [insights[-1]], "knowledge_page", page=page, confirm=True)
                pages.append(page.slug)
                changesets.append(str(done.changeset_id))
            elif number % 3 == 1:
                platform.set_insight_status(admin.identity, insights[-1], "approved", "")
        change = Change(change_type="update_description", detail="Crates, one a row.")
        spare = insights[2]
        done = platform.knowledge_apply(admin, [spare], "datahub", entity_urn=URN, changes=[change], confirm=True)
        changesets.append(str(done.changeset_id))
    return {"insights": insights, "changesets": changesets, "pages": pages, "entities": [URN]}


def configuration(there: Mapping[str, Sequence[str]]) -> str:
    """Schemathesis' settings: half of all ids that are asked for are there."""
    lines = ["warnings = false"]
    for name, values in there.items():
        lines += [f"[dictionaries.{name}]", f"values = {json.dumps(list(values))}"]
    for operation, fields in IDS.items():
        lines += ["[[operations]]", f'include-operation-id = "{operation}"', "[operations.parameters]"]
        lines += [f'"{field}" = {{ dictionary = "{name}", probability = 0.5 }}' for field, name in fields.items()]
        if operation == UNSAID:
            lines += ["[operations.checks.positive_data_acceptance]", f"expected-statuses = {json.dumps(ACCEPTED)}"]
    return "\n".join(lines) + "\n"


def options(url: str, role: str, examples: int, seed: int) -> Iterator[str]:
    yield from ("--config-file=schemathesis.toml", "run", "openapi.json", f"--url={url}{rest.PREFIX}")
    yield f"--checks={','.join((*ANSWERS, *(TAKES if role == 'admin' else ())))}"
    yield from (f"--seed={seed}", f"--max-examples={examples}", "--workers=1", "--generation-database=none")
    yield from ("--continue-on-failure", "--no-color")
    yield from ("--report=har", f"--report-har-path={REPORT}")


@contextlib.contextmanager
def served(place: Path) -> Iterator[str]:
    """The platform as a process; its address."""
    command = [sys.executable, "-m", "memassay", "platform", "serve", "--data", str(place / "memory"), "--json"]
    command += ["--set", "embedder=hash", "--set", "supersede=1.0", "--set", "durable=false"]
    with (
        (place / LOG).open("w") as said,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, text=True) as child,
    ):
        try:
            assert child.stdout is not None
            yield json.loads(child.stdout.readline())["url"]
        finally:
            child.terminate()


def requests(report: Path) -> list[tuple[str, str, int]]:
    """Method, path below the prefix, and status of every request of a pass."""
    if not report.exists():  # it ended before the first
        return []
    entries = json.loads(report.read_text("utf-8"))["log"]["entries"]
    report.unlink()
    return [
        (
            entry["request"]["method"],
            urllib.parse.urlsplit(entry["request"]["url"]).path.removeprefix(rest.PREFIX),
            entry["response"]["status"],
        )
        for entry in entries
    ]


def wrong(role: str, method: str, path: str, status: int) -> str:
    """Why somebody should not have got this answer, or ""."""
    if role == NOBODY:
        return "" if status == 401 else f"  nobody: {method} {path}: {status}"
    if status == 401 and role != "admin":  # the checks of its pass take the key away, too
        return f"  {role}: {method} {path}: the key is not taken"
    for endpoint in rest.ENDPOINTS:
        if endpoint.method == method and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", endpoint.path), path):
            allowed = endpoint.role == "anyone" or role in (endpoint.role, "admin")
            # A path with an escaped slash is another path, which is not there.
            return "" if allowed or status in (403, 404) else f"  {role}: {method} {path}: {status}"
    return ""


if __name__ == "__main__":
    sys.exit(main())
