"""The run folder: one place, one format per file; everything later than the answers is made from it alone.

::

    manifest.json            identity (guarded) and one entry per writer (recorded)
    tasks.jsonl              frozen, with gold
    expected.json            what the controls must show, fixed before the first cell
    builds.jsonl             one BuildReport per store and attempt
    answers-WRITER.jsonl     one Answer per attempt
    judgements/ID.jsonl      one file per judge configuration, beside ID.json, its manifest
    judgements/replaced/     verdicts that were given anew since; nothing counts them
    regraded.jsonl           what was set aside there, and which grader took its place
    audits/ID.json           how often a judge was wrong about planted answers
    dossiers/  transcripts/  content-addressed, compressed
    summary.json  summary.md  report.html
"""

from __future__ import annotations

import contextlib
import fcntl
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from memassay.core.digest import canonical_json, digest_of
from memassay.core.errors import DataError
from memassay.core.types import Answer, BuildReport, Dossier, Judgement, Status, Task
from memassay.runs.blobs import Blobs
from memassay.runs.guard import guard
from memassay.runs.lines import LineWriter, disk_errors, read_lines, write_whole
from memassay.runs.records import Key, answer_head, key_of, parsed, passages_json, passages_of, to_line, verdict_head

FORMAT = 1
M = TypeVar("M", bound=BaseModel)


FINAL = ("answered", "memory")
"""Kinds of status that finish a cell; provider and harness failures are tried again."""


class Counted(NamedTuple):
    """The record that counts for a cell: how it ended, and where it stands (segment and line)."""

    status: Status
    attempt: int
    segment: int
    line: int
    mark: str


def mark_of(record: Mapping[str, Any]) -> str:
    """What tells one attempt's record from another of the same cell and number (two writers, a copied segment)."""
    return digest_of([record["status"], [[s["status"], s.get("dossier"), s.get("text")] for s in record["steps"]]])[:16]


class RunFolder:
    """A run on disk. Making one reads nothing; ``enter`` creates or guards it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.dossiers = Blobs(path / "dossiers")
        self.transcripts = Blobs(path / "transcripts")

    @classmethod
    def existing(cls, path: Path) -> RunFolder:
        """The run at ``path``.

        Raises:
            DataError: it is not a run folder.
        """
        if not (path / "manifest.json").is_file():
            raise DataError(f"{path} is not a run folder (it has no manifest.json). Give the folder that --out named.")
        return cls(path)

    # -- manifest ----------------------------------------------------------------------------------------------

    @property
    def manifest(self) -> dict[str, Any]:
        """The manifest as written.

        Raises:
            DataError: it is damaged.
        """
        try:
            value = json.loads((self.path / "manifest.json").read_text("utf-8"))
            identity = value["identity"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(f"{self.path}/manifest.json is missing or damaged; start a new run folder.") from error
        if value.get("format") != FORMAT or not isinstance(identity, dict):
            raise DataError(f"{self.path} has run-folder format {value.get('format')!r}; this memassay reads {FORMAT}.")
        return dict(value)

    def enter(
        self,
        identity: Mapping[str, Any],
        experiment: Mapping[str, Any],
        writer: str,
        environment: Mapping[str, Any],
        tasks: Iterable[Task],
    ) -> bool:
        """Create the folder, or check that it is the same run. Returns True when it existed.

        Raises:
            GuardError: something that can change a number differs, with the field named.
            EnvironmentProblem: the folder cannot be written.
        """
        plain = json.loads(canonical_json(identity))
        with disk_errors(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        with self._locked():
            existed = (self.path / "manifest.json").exists()
            manifest = (
                self.manifest
                if existed
                else {
                    "format": FORMAT,
                    "identity": plain,
                    "experiment": experiment,
                    "writers": {},
                }
            )
            if existed:
                guard(manifest["identity"], plain, str(self.path))
            else:
                write_whole(self.path / "tasks.jsonl", "".join(f"{to_line(task)}\n" for task in tasks))
            entries = manifest["writers"].setdefault(writer, [])
            if environment not in entries:
                entries.append(dict(environment))
            manifest["identity_digest"] = digest_of(plain)
            write_whole(self.path / "manifest.json", json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
        return existed

    @contextlib.contextmanager
    def _locked(self, name: str = ".lock") -> Iterator[None]:
        with disk_errors(self.path):
            handle = (self.path / name).open("a")
        with handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield

    def concluding(self) -> contextlib.AbstractContextManager[None]:
        """Held from reading the records to writing the summary, so that the last shard's summary is the last one."""
        return self._locked(".concluding")

    # -- records -----------------------------------------------------------------------------------------------

    def tasks(self) -> list[Task]:
        """The frozen tasks, in order."""
        return list(self._records(self.path / "tasks.jsonl", Task))

    def builds(self) -> list[BuildReport]:
        """Every build report, in the order written."""
        return list(self._records(self.path / "builds.jsonl", BuildReport))

    def record_build(self, report: BuildReport) -> None:
        """Append a build report, its store by key and not by a path of this machine; writers take turns."""
        if report.store is not None and report.store.kind == "folder":
            store = report.store.model_copy(update={"location": f"{report.store.key}/store"})
            report = report.model_copy(update={"store": store})
        with self._locked(), LineWriter(self.path / "builds.jsonl") as lines:
            lines.append(to_line(report))

    def answer_writer(self, writer: str) -> LineWriter:
        """The segment of one writer, locked.

        Raises:
            RunLocked: another process writes this shard.
        """
        return LineWriter(self.path / f"answers-{writer}.jsonl")

    def segments(self) -> list[Path]:
        """The answer files, in name order (which makes "first" the same for every reader)."""
        return sorted(self.path.glob("answers-*.jsonl"))

    def finished(self) -> tuple[set[Key], dict[Key, int]]:
        """What a resume needs: keys that count as finished, and how many attempts each open key has had.

        Reads keys and status only, so a million records take seconds.
        """
        done: set[Key] = set()
        open_attempts: dict[Key, int] = {}
        for segment in self.segments():
            for number, record in read_lines(segment):
                key, status, attempt = answer_head(segment, number, record)
                if status.kind in FINAL:
                    done.add(key)
                else:
                    open_attempts[key] = max(open_attempts.get(key, 0), attempt)
        for key in done:
            open_attempts.pop(key, None)
        return done, open_attempts

    def counted(self) -> tuple[dict[Key, Counted], dict[str, int]]:
        """Which record of each cell counts, and how many do not.

        A cell counts by its first attempt that was answered or that the memory failed, else by its last attempt.

        Returns:
            The counted record by key, and ``{"attempts": retried, "duplicates": finished cells recorded again,
            "differing": duplicates that say something else than the record that counts}``.
        """
        counted: dict[Key, Counted] = {}
        extra = {"attempts": 0, "duplicates": 0, "differing": 0}
        for name, segment in enumerate(self.segments()):
            for number, record in read_lines(segment):
                key, status, attempt = answer_head(segment, number, record)
                try:
                    mark = mark_of(record)
                except (KeyError, TypeError, AttributeError) as error:
                    raise DataError(f"{segment.name}, line {number}: steps: not those of an answer record.") from error
                new = Counted(status, attempt, name, number, mark)
                held = counted.get(key)
                if held is None:
                    counted[key] = new
                elif held.status.kind in FINAL and status.kind not in FINAL:
                    extra["attempts"] += 1
                elif held.status.kind in FINAL:
                    extra["duplicates"] += 1
                    extra["differing"] += held.mark != new.mark
                else:
                    extra["attempts"] += 1
                    if status.kind in FINAL or attempt >= held.attempt:
                        counted[key] = new
        return counted, extra

    def each(self, counted: Mapping[Key, Counted]) -> Iterator[Answer]:
        """The counted answers, one at a time."""
        places = {(c.segment, c.line) for c in counted.values()}
        for name, segment in enumerate(self.segments()):
            for number, record in read_lines(segment):
                if (name, number) in places:
                    yield parsed(segment, number, record, Answer)

    def answers(self) -> tuple[dict[Key, Answer], dict[str, int]]:
        """All counted answers by key, and how many records do not count. For runs that fit in memory."""
        counted, extra = self.counted()
        return {key_of(answer.cell): answer for answer in self.each(counted)}, extra

    def judgement_files(self) -> list[str]:
        """Ids of the judge configurations that have judged here."""
        return sorted(p.stem for p in (self.path / "judgements").glob("*.jsonl"))

    def verdicts(self, judge: str) -> Path:
        """The file of one judge configuration's verdicts."""
        return self.path / "judgements" / f"{judge}.jsonl"

    def each_judgement(self, judge: str) -> Iterator[Judgement]:
        """The verdicts of one judge configuration, one at a time, in the order written."""
        return self._records(self.verdicts(judge), Judgement)

    def judgements(self, judge: str) -> dict[Key, Judgement]:
        """The verdicts of one judge configuration by cell. For runs that fit in memory."""
        return {key_of(verdict.subjects[0]): verdict for verdict in self.each_judgement(judge)}

    def judged(self, judge: str) -> dict[Key, tuple[int, str]]:
        """Which attempt of each cell a judge configuration has judged."""
        path = self.verdicts(judge)
        return dict(
            verdict_head(path, number, record)
            for number, record in read_lines(path)
            if record.get("status") != "failed"
        )

    def judge_manifests(self) -> list[tuple[str, dict[str, Any]]]:
        """Id and manifest of every judge configuration that has judged here, by id."""
        return self._manifests("judgements")

    def _manifests(self, kind: str) -> list[tuple[str, dict[str, Any]]]:
        found = []
        for path in sorted((self.path / kind).glob("*.json")):
            try:
                found.append((path.stem, dict(json.loads(path.read_text("utf-8")))))
            except (OSError, ValueError, TypeError) as error:
                raise DataError(f"{kind}/{path.name} is damaged; delete it and its .jsonl, and judge again.") from error
        return found

    def audit(self, judge: str) -> dict[str, Any] | None:
        """How often a judge was wrong about planted answers, or None where nobody looked."""
        try:
            return dict(json.loads((self.path / "audits" / f"{judge}.json").read_text("utf-8")))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError) as error:
            raise DataError(f"audits/{judge}.json is damaged; delete it and audit the judge again.") from error

    def audited(self) -> list[str]:
        """Ids of the judge configurations that were audited here."""
        return sorted(path.stem for path in (self.path / "audits").glob("*.json"))

    def record_audit(self, judge: str, found: Mapping[str, Any]) -> None:
        """Keep what an audit of a judge found; a later one takes its place."""
        folder = self.path / "audits"
        with disk_errors(folder):
            folder.mkdir(exist_ok=True)
        write_whole(folder / f"{judge}.json", json.dumps(found, indent=1, ensure_ascii=False) + "\n")

    def judge_writer(self, judge: str, config: Mapping[str, Any]) -> LineWriter:
        """The file of one judge configuration; writers take turns. Its own manifest is guarded."""
        return self._verdict_writer("judgements", judge, config, begun=bool(self.judged(judge)))

    def _verdict_writer(self, kind: str, judge: str, config: Mapping[str, Any], *, begun: bool) -> LineWriter:
        manifest = self.path / kind / f"{judge}.json"
        plain = json.loads(canonical_json(config))
        # A judge that has judged nothing yet may be asked in another way.
        if manifest.exists() and begun:
            guard(json.loads(manifest.read_text("utf-8")), plain, f"{self.path}/{kind}/{judge}")
        else:
            write_whole(manifest, json.dumps(plain, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
        return LineWriter(self.path / kind / f"{judge}.jsonl", wait=True)

    # -- verdicts on pairs -------------------------------------------------------------------------------------

    def pair_files(self) -> list[str]:
        """Ids of the judges of pairs that have compared here."""
        return sorted(path.stem for path in (self.path / "pairs").glob("*.jsonl"))

    def pair_verdicts(self, judge: str) -> Path:
        """The file of one judge of pairs."""
        return self.path / "pairs" / f"{judge}.jsonl"

    def each_pair_verdict(self, judge: str) -> Iterator[Judgement]:
        """The comparisons of one judge of pairs, in the order written."""
        return self._records(self.pair_verdicts(judge), Judgement)

    def pair_manifests(self) -> list[tuple[str, dict[str, Any]]]:
        """Id and manifest of every judge of pairs that was begun here, by id."""
        return self._manifests("pairs")

    def pair_writer(self, judge: str, config: Mapping[str, Any]) -> LineWriter:
        """The file of one judge of pairs; writers take turns. Its own manifest is guarded."""
        begun = any(record.get("status") != "failed" for _, record in read_lines(self.pair_verdicts(judge)))
        return self._verdict_writer("pairs", judge, config, begun=begun)

    def expected(self) -> dict[str, Any]:
        """What the controls must show, as fixed before the first cell.

        Raises:
            DataError: it is missing or damaged.
        """
        try:
            value = json.loads((self.path / "expected.json").read_text("utf-8"))
            return {"ceilings": dict(value["ceilings"]), "chance": dict(value["chance"])}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(f"{self.path}/expected.json is missing or damaged; run the same command again.") from error

    def expect(self, expected: Mapping[str, Any]) -> None:
        """Fix what the controls must show."""
        write_whole(self.path / "expected.json", json.dumps(expected, indent=1, ensure_ascii=False) + "\n")

    # -- dossiers and summary ----------------------------------------------------------------------------------

    def put_transcript(self, evidence: str) -> str:
        """Store everything that an agent saw; returns the blob's digest."""
        return self.transcripts.put(evidence)

    def put_dossier(self, dossier: Dossier) -> str:
        """Store the passages; returns the blob's digest."""
        return self.dossiers.put(passages_json(dossier))

    def dossier(self, digest: str) -> Dossier:
        """The dossier under a blob digest."""
        try:
            passages = passages_of(self.dossiers.get(digest))
        except ValidationError as error:
            raise DataError(f"dossiers/{digest[:12]}… holds no passages; restore the run folder.") from error
        return Dossier(status="ok" if passages else "empty", passages=passages, digest=digest)

    def summary(self) -> dict[str, Any]:
        """The summary as written.

        Raises:
            DataError: there is none yet.
        """
        try:
            value = json.loads((self.path / "summary.json").read_text("utf-8"))
            if not isinstance(value, dict):
                raise TypeError("not an object")
            return value
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(f"{self.path} has no readable summary.json; run: memassay report {self.path}") from error

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        write_whole(
            self.path / "summary.json", json.dumps(summary, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        )

    @staticmethod
    def _records(path: Path, model: type[M]) -> Iterator[M]:
        for number, record in read_lines(path):
            yield parsed(path, number, record, model)
