"""The user's documents and questions, read and checked before anything is built."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from memassay.core.errors import DataError
from memassay.suites.canary.drafting import refuse_unfilled
from memassay.suites.canary.fixture import Question, read_fixture
from memassay.suites.canary.ingest import Ingested, ingest
from memassay.suites.canary.lint import lint
from memassay.suites.custom.lines import shown

_NAMED = 5


def read_both(docs: Path, questions: Path) -> tuple[Ingested, tuple[Question, ...]]:
    """Documents and questions.

    Raises:
        DataError: one of them cannot be read, or a question is not filled in, by line and with the fix.
    """
    found = ingest(docs, leave_out=questions)
    refuse_unfilled(questions)
    return found, read_fixture(questions)


def skipped(found: Ingested) -> list[str]:
    """A line on the files that were left out, if there are any."""
    if not found.skipped:
        return []
    named = [f"{shown(name)} ({reason})" for name, reason in found.skipped.items()]
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    plural = "s were" if len(named) > 1 else " was"
    return [f"{len(named)} file{plural} left out: {', '.join(named[:_NAMED])}{more}"]


def warnings(asked: tuple[Question, ...], found: Ingested, docs: Path, questions: Path) -> Iterator[str]:
    """The warnings of the linter, the first of them in words.

    Raises:
        DataError: it found errors.
    """
    findings = lint(asked, found.documents)
    errors = [finding for finding in findings if finding.severity == "error"]
    whole = f"memassay canary lint {questions} --docs {docs}"
    if errors:
        first = errors[0]
        more = f" {len(errors) - 1} more: {whole}" if len(errors) > 1 else ""
        raise DataError(f"{questions}, line {first.line} ({first.id}), {first.field}: {first.message}{more}")
    for finding in findings[:_NAMED]:
        yield f"warning: {f'line {finding.line} ({finding.id}): ' if finding.line else ''}{finding.message}"
    if len(findings) > _NAMED:
        yield f"{len(findings) - _NAMED} more warnings: {whole}"
