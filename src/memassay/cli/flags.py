"""What the text of a flag means, and the sentence where it means nothing."""

from __future__ import annotations

from typing import Any

from memassay.core.errors import UsageError


def above_zero(value: float | None) -> float | None:
    """A limit of money.

    Raises:
        UsageError: it is not above 0.
    """
    if value is not None and not value > 0:
        raise UsageError(f"--max-usd {value:g}: give US dollars above 0; leave it out for no limit.")
    return value


def table_of(name: str, value: Any) -> dict[str, Any]:
    """A table of an experiment file.

    Raises:
        UsageError: it is none.
    """
    if not isinstance(value, dict):
        raise UsageError(f"Experiment, {name}: this must be a table, written [{name}], not {value!r:.40}.")
    return dict(value)


def with_options(judge: Any, options: dict[str, Any]) -> dict[str, Any]:
    """A judge of an experiment file, with the settings of flags over its own.

    Raises:
        UsageError: it is no table.
    """
    entry = table_of("judges", judge)
    return entry | {"options": table_of("judges.options", entry.get("options", {})) | options}


def words_of(text: str | None) -> list[str] | None:
    """``A,B`` as a list; None where nothing was given."""
    return None if text is None else [word.strip() for word in text.split(",") if word.strip()]


def numbers_of(flag: str, text: str | None) -> list[int] | None:
    """``1000,4000`` as numbers; None where nothing was given.

    Raises:
        UsageError: one is no whole number.
    """
    if text is None:
        return None
    try:
        return [int(word) for word in text.split(",")]
    except ValueError as error:
        raise UsageError(f"{flag} {text!r}: give whole numbers, comma-separated, such as 1000,4000.") from error


def primary_of(text: str | None) -> dict[str, str] | None:
    """``[SPLIT/]METRIC:A>B`` as the table ``primary``; None where nothing was given.

    Raises:
        UsageError: it is not that.
    """
    if text is None:
        return None
    metric, colon, pair = text.rpartition(":")
    a, greater, b = pair.partition(">")
    split, slash, name = metric.partition("/")
    if not (metric and colon and greater and a and b):
        raise UsageError(f"--primary {text!r}: write [SPLIT/]METRIC:A>B, for example test/all@4000:lexical>files.")
    found = {"metric": name if slash else metric, "a": a.strip(), "b": b.strip()}
    return found | ({"split": split} if slash else {})


def shard_of(text: str) -> tuple[int, int]:
    """``i/n`` as two numbers.

    Raises:
        UsageError: it is not that.
    """
    index, _, of = text.partition("/")
    if index.isdecimal() and of.isdecimal() and 1 <= int(index) <= int(of):
        return int(index), int(of)
    raise UsageError(f"--shard {text!r}: write i/n with i from 1 to n, for example 1/2.")
