"""What a run registers before anything is built, and what is logged when something beside its identity changes.

The identity is guarded: a run with a difference in it is another run, whatever anybody writes down. Beside it stands
what may come later and can change what is concluded all the same: judges, the limit of money, what a person said of
single answers, the version of memassay. Each change of these is an amendment, with its time, both values and a reason.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from memassay.core.digest import canonical_json, digest_of
from memassay.core.errors import DataError, GuardError
from memassay.running.calls import without_secrets
from memassay.running.plan import Plan
from memassay.runs.classifications import classifications
from memassay.runs.folder import RunFolder
from memassay.runs.guard import differences, guard
from memassay.runs.lines import read_lines
from memassay.runs.prereg import Entry, chain, extend
from memassay.version import __version__

NO_REASON = "none given"
_SHOWN = 3
_REGISTRATION, _AMENDMENT = "registration", "amendment"


class _Said(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Registration(_Said):
    """The first entry.

    Attributes:
        identity: all that can change a number, as the manifest guards it.
        identity_digest: its digest, the one that the manifest and the summary show.
        beside: what may change later, by field.
        alone: written by ``--register``, before a run of its own; then every amendment needs a reason.
    """

    identity: dict[str, JsonValue]
    identity_digest: str
    beside: dict[str, JsonValue]
    alone: bool


class Change(_Said):
    """One field that changed; null is absent."""

    field: str
    before: JsonValue
    after: JsonValue


class Amendment(_Said):
    """Every further entry."""

    changes: tuple[Change, ...]
    reason: str


S = TypeVar("S", bound=_Said)


def refuse_other(run: RunFolder, plan: Plan, amend: str) -> None:
    """Refuse a plan that is not the one that was registered, before anything is written.

    Args:
        run: the run's folder, which need not be there.
        plan: what is about to be done there.
        amend: why something beside the identity is different, or "".

    Raises:
        GuardError: the identity differs, the hash that was asked for is not in the chain, or a reason is missing.
        DataError: the chain is broken.
    """
    entries = chain(run.path)
    asked = plan.experiment.registered
    if asked is not None and asked.strip().lower() not in {entry.hash for entry in entries}:
        held = f"the registration there is {entries[0].hash}" if entries else "nothing is registered there"
        raise GuardError(
            f"{run.path} has no registration {asked!r}: {held}. Give the folder that was registered with --out, or "
            "register first, with --register."
        )
    if entries:
        guard(_registration(run, entries).identity, _plain(plan.identity), str(run.path))
        _amendment(run, entries, _beside(run, plan, asks=plan.answers), amend)


def register(run: RunFolder, plan: Plan, amend: str, *, alone: bool) -> Entry:
    """Register a plan, or log what differs from what was registered.

    Args:
        run: the run's folder.
        plan: what is about to be done there.
        amend: why something beside the identity is different, or "".
        alone: whether this is a registration on its own.

    Returns:
        The registration.

    Raises:
        GuardError: a reason is missing.
        DataError: the chain is broken.
    """
    beside = _beside(run, plan, asks=plan.answers)

    def following(entries: Sequence[Entry]) -> tuple[str, Mapping[str, Any]] | None:
        if entries:
            return _amendment(run, entries, beside, amend)
        identity = _plain(plan.identity)
        first = Registration(identity=identity, identity_digest=digest_of(identity), beside=beside, alone=alone)
        return _REGISTRATION, first.model_dump(mode="json")

    return extend(run.path, following)[0]


def log_amendments(run: RunFolder, plan: Plan, amend: str) -> None:
    """Log what differs from what was registered, before it is judged and concluded from.

    A run that has no registration, as an earlier memassay left it, stays without.

    Args:
        run: the run.
        plan: with the judges that have judged it and those that will.
        amend: why, or "".

    Raises:
        GuardError: a reason is missing.
        DataError: the chain is broken, or is that of another run.
    """
    entries = chain(run.path)
    if not entries:
        return
    other = [field for field, _, _ in differences(_registration(run, entries).identity, _plain(plan.identity))]
    if other:
        raise DataError(
            f"{run.path}/manifest.json is not the run that prereg.jsonl registers: {', '.join(other[:_SHOWN])} "
            f"{'differ' if len(other) > 1 else 'differs'}; restore both from a copy."
        )
    beside = _beside(run, plan, asks=False)
    extend(run.path, lambda now: _amendment(run, now, beside, amend))


def registration_of(run: RunFolder) -> dict[str, Any] | None:
    """The registration of a run for its summary, or None where it has none.

    Returns:
        ``at`` and ``hash`` of the registration, ``alone``, ``first`` (whether it is older than every record),
        ``amendments`` with time, changes and reason, and ``head``, the hash of the last entry.

    Raises:
        DataError: the chain is broken.
    """
    entries = chain(run.path)
    if not entries:
        return None
    record = _first_record(run)
    return {
        "at": entries[0].at,
        "hash": entries[0].hash,
        "alone": _registration(run, entries).alone,
        "first": record is None or _time(entries[0].at) <= record,
        "amendments": [
            {"at": entry.at, **_said(run, entry, _AMENDMENT, Amendment).model_dump(mode="json")}
            for entry in entries[1:]
        ],
        "head": entries[-1].hash,
    }


# -- what may change -----------------------------------------------------------------------------------------------


def _beside(run: RunFolder, plan: Plan, *, asks: bool) -> dict[str, JsonValue]:
    """What stands beside the identity now, by field; what this command leaves alone is left out.

    Args:
        run: the run's folder.
        plan: with the judges that are named, and those that have judged.
        asks: whether agents are asked, and so money can be spent.
    """
    found: dict[str, Any] = {"memassay": __version__}
    if asks or plan.pair_judges or any(judge.live for judge in plan.model_judges):
        found["max_usd"] = plan.experiment.max_usd
    # A judge that has judged is what its manifest says: another under its name is refused, and changes nothing.
    manifests = dict(run.judge_manifests())
    for judge in plan.model_judges:
        begun = judge.id in manifests and run.judged(judge.id)
        config = manifests[judge.id] if begun else judge.config
        # The metric's name follows from the judges that are named beside it.
        found[f"judges.{judge.id}"] = {name: value for name, value in config.items() if name != "metric"}
    compared = {name: about for name, about in run.pair_manifests() if name in run.pair_files()}
    named = {judge.id: judge.config for judge in plan.pair_judges}
    found |= {f"pairs.{name}": about for name, about in (named | compared).items()}
    for (task, arm, build, repetition), (kind, why) in classifications(run.path).items():
        found[f"classifications.{task}/{arm}/{build + 1}/{repetition + 1}"] = f"{kind}: {why}"
    return _plain(found)


def _amendment(
    run: RunFolder, entries: Sequence[Entry], beside: Mapping[str, JsonValue], amend: str
) -> tuple[str, Mapping[str, Any]] | None:
    """The amendment that is due, or None.

    Raises:
        GuardError: it needs a reason.
    """
    first = _registration(run, entries)
    held = dict(first.beside)
    for entry in entries[1:]:
        held |= {change.field: change.after for change in _said(run, entry, _AMENDMENT, Amendment).changes}
    changes = [
        Change(field=field, before=held.get(field), after=beside[field])
        for field in sorted(beside)
        if canonical_json(held.get(field)) != canonical_json(beside[field])
    ]
    if not changes:
        return None
    reason = without_secrets(" ".join(amend.split()))
    if first.alone and not reason:
        named = ", ".join(change.field for change in changes[:_SHOWN])
        raise GuardError(
            f'{run.path} was registered on its own, and this differs: {named}. Say why with --amend "…", or choose '
            "another folder with --out."
        )
    return _AMENDMENT, Amendment(changes=tuple(changes), reason=reason or NO_REASON).model_dump(mode="json")


# -- reading -------------------------------------------------------------------------------------------------------


def _registration(run: RunFolder, entries: Sequence[Entry]) -> Registration:
    return _said(run, entries[0], _REGISTRATION, Registration)


def _said(run: RunFolder, entry: Entry, kind: str, model: type[S]) -> S:
    try:
        if entry.kind != kind:
            raise ValueError(f"it is no {kind}")
        return model.model_validate(entry.content)
    except (ValidationError, ValueError) as error:
        raise DataError(
            f"{run.path}/prereg.jsonl: entry {entry.sequence} is no {kind} as this memassay writes it; was it written "
            "by another version?"
        ) from error


def _plain(value: Mapping[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(canonical_json(value))
    return plain


def _first_record(run: RunFolder) -> datetime.datetime | None:
    """When the first answer or store was recorded; each writer's file begins with its first."""
    heads = [next(read_lines(path), None) for path in (*run.segments(), run.path / "builds.jsonl")]
    return min((_time(str(record["at"])) for _, record in filter(None, heads) if record.get("at")), default=None)


def _time(text: str) -> datetime.datetime:
    """A time of a record; one that cannot be read is before every other."""
    try:
        found = datetime.datetime.fromisoformat(text)
    except ValueError:
        return datetime.datetime.min.replace(tzinfo=datetime.UTC)
    return found if found.tzinfo else found.replace(tzinfo=datetime.UTC)
