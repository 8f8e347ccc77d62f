"""Failures, cost and identity: the parts of a report that say what the run was."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from memassay.reporting import figures
from memassay.reporting.grid import Cell, Col, Grid, row
from memassay.reporting.reading import ArmReading, Reading
from memassay.reporting.values import mapping, sequence, words


def failures(reading: Reading) -> Grid | None:
    """Failures by kind beside the headline under both treatments."""
    if not any(arm.at("failures") or arm.at("attempts") for arm in reading.arms):
        return None
    head = reading.headline
    counted = any(arm.at("attempts") for arm in reading.arms)
    cols = (
        Col("arm", "arm"),
        Col("memory", "integer", "time-out, crash, empty store: counted as wrong"),
        Col("provider", "integer", "rate limit, API error, network"),
        Col("harness", "integer", "our own fault"),
        *((Col("cells", "integer"), Col("extra attempts", "integer")) if counted else ()),
        Col(f"{head.label}, failures wrong", "estimate", "the primary treatment", True),
        Col("n", "integer"),
        Col(f"{head.label}, answered only", "estimate", "the other treatment"),
        Col("n answered", "integer"),
    )
    rows = []
    for arm in reading.arms:
        failed, attempts, other = arm.at("failures"), arm.at("attempts"), arm.at("secondary", "answered_only")
        kinds = [figures.finite(failed.get(kind)) for kind in ("memory", "provider", "harness")]
        rows.append(
            row(
                [
                    arm.name,
                    *kinds,
                    *((figures.finite(attempts.get(key)) for key in ("cells", "extra")) if counted else ()),
                    arm.estimate(head.name),
                    arm.n,
                    arm.estimate(head.name, "secondary", "answered_only", "metrics") if other else None,
                    figures.finite(other.get("n")),
                ],
                "bad" if kinds[2] else "",
            )
        )
    return Grid("Failures by kind", cols, tuple(rows))


def usage(reading: Reading) -> Grid | None:
    """What building and retrieving cost."""
    if not any(arm.at("usage") for arm in reading.arms):
        return None
    timed = not reading.of_answers
    cols = (
        Col("arm", "arm"),
        Col("build", "number", "all stores together"),
        Col("build cost", "number"),
        Col("stores", "integer"),
        Col("passages", "integer"),
        Col("on disk", "number"),
        # Where an agent answered, the time of a cell is that of retrieval and answer, and stands with the answers.
        *((Col("retrieve p50", "number"), Col("retrieve p95", "number")) if timed else ()),
        Col("tokens per dossier p50", "integer", "before the cut"),
        Col("tokens per dossier p95", "integer", "before the cut"),
    )
    title = "Cost and latency" if timed else "Building the stores"
    return Grid(title, cols, tuple(row(_usage(arm, timed)) for arm in reading.arms))


def _usage(arm: ArmReading, timed: bool) -> list[Cell]:
    build, speed, tokens = (arm.at("usage", k) for k in ("build", "retrieve_ms", "tokens_per_dossier"))
    cost = figures.finite(build.get("cost_usd"))
    return [
        arm.name,
        figures.seconds(build.get("seconds")),
        figures.money(cost) if cost is not None else "none" if build else None,
        figures.finite(build.get("stores")),
        figures.finite(build.get("passages")),
        figures.size(build.get("bytes")),
        *((_ms(speed.get(q)) for q in ("p50", "p95")) if timed else ()),
        *(figures.finite(tokens.get(q)) if arm.has_dossier else None for q in ("p50", "p95")),
    ]


def _ms(value: object) -> str:
    number = figures.finite(value)
    return figures.DASH if number is None else figures.seconds(number / 1000)


def identity(reading: Reading) -> tuple[Grid, ...]:
    """The run's values and digests, the settings of every arm, and what was registered."""
    raw = reading.raw
    facts: list[tuple[str, str]] = [
        ("run", words(raw.get("run"))),
        ("suite", words(raw.get("suite"))),
        ("stage", words(raw.get("stage"))),
        ("memassay", words(raw.get("version"))),
        ("data", words(raw.get("data"))),
        ("model", words(raw.get("model"))),
        *((f"agent: {words(name)}", _plain(value)) for name, value in mapping(raw.get("agent")).items()),
        ("repetitions", words(raw.get("repetitions"))),
        *((f"judge of {judge.metric.name}", f"{judge.use}, {judge.name}") for judge in reading.judges),
        ("tokenizer", words(raw.get("tokens"))),
        ("budgets (tokens)", ", ".join(figures.integer(b) for b in sequence(raw.get("budgets")))),
        (f"k ({_counted(reading)})", ", ".join(words(k) for k in sequence(raw.get("ks")))),
        *((f"suite: {words(name)}", _plain(value)) for name, value in reading.settings.items()),
        ("primary", _primary(raw.get("primary"))),
        ("identity digest", words(raw.get("identity_digest"))),
        *((f"digest of {words(k)}", words(v)) for k, v in mapping(raw.get("digests")).items()),
    ]
    first = Grid("Run", (Col("what"), Col("value")), tuple(row([k, v]) for k, v in facts if v))
    rows = []
    answered = bool(reading.of_answers)
    settled = any(arm.at("usage", "build", "facts") for arm in reading.arms)
    for arm in reading.arms:
        source = arm.at("source")
        origin = " ".join(filter(None, (words(source.get("origin")), words(source.get("version")))))
        rows.append(
            row(
                [
                    arm.name,
                    words(arm.raw.get("role")),
                    words(arm.raw.get("memory")),
                    *((" + ".join(words(a) for a in sequence(arm.raw.get("access"))),) if answered else ()),
                    origin,
                    settings(arm.at("options")),
                    *((_facts(arm.at("usage", "build", "facts")),) if settled else ()),
                ]
            )
        )
    cols = (
        *(Col("arm", "arm"), Col("role"), Col("memory")),
        *((Col("access", hint="what its agent was given"),) if answered else ()),
        *(Col("source"), Col("settings")),
        *((Col("built with", hint="what was settled while the stores were built"),) if settled else ()),
    )
    arms = (Grid("Arms", cols, tuple(rows)),) if rows else ()
    return (first, *arms, *_registered(reading))


def _registered(reading: Reading) -> tuple[Grid, ...]:
    """When the run was registered, and every amendment since; nothing for a run of a memassay that registered none."""
    found = mapping(reading.raw.get("registration"))
    if not found:
        return ()
    order = "before the first record" if found.get("first") is True else "after the first record"
    amendments = [mapping(entry) for entry in sequence(found.get("amendments"))]
    facts = [
        ("registered", f"{words(found.get('at'))}, {order}"),
        ("hash", words(found.get("hash"))),
        ("amendments", figures.integer(len(amendments))),
        *((f"amended {words(entry.get('at'))}", _amended(entry)) for entry in amendments),
        *((("hash of the last amendment", words(found.get("head"))),) if amendments else ()),
    ]
    return (Grid("Pre-registration", (Col("what"), Col("value")), tuple(row([k, v]) for k, v in facts)),)


def _amended(entry: Mapping[str, Any]) -> str:
    changes = "; ".join(_change(mapping(change)) for change in sequence(entry.get("changes")))
    return f"{changes}. Reason: {words(entry.get('reason'))}"


def _change(change: Mapping[str, Any]) -> str:
    """``max_usd: 2 → 5``; of a judge only that it came, or is another one now."""
    field, before, after = words(change.get("field")), change.get("before"), change.get("after")
    if isinstance(after, Mapping):
        return f"{field} {'added' if before is None else 'changed'}"
    return f"{field}: {'none' if before is None else _plain(before)} → {'none' if after is None else _plain(after)}"


def _counted(reading: Reading) -> str:
    """What k counts."""
    return next((m.unit for m in reading.metrics if m.passages), "passages")


def _plain(value: object) -> str:
    """A setting of the suite in one line: ``seed 7, dev 289``; digests and seeds as they are."""
    if isinstance(value, Mapping):
        return ", ".join(f"{words(k)} {_plain(v)}" for k, v in value.items())
    return words(value) if isinstance(value, str) else _json(value)


def _primary(value: object) -> str:
    found = mapping(value)
    if not found:
        return "none named before the run"
    return (
        f"{words(found.get('a'))} − {words(found.get('b'))}, {words(found.get('metric'))}, {words(found.get('split'))}"
    )


def settings(options: object) -> str:
    """Settings as ``name = value``, values in JSON."""
    return ", ".join(f"{words(k)} = {_json(v)}" for k, v in mapping(options).items()) or "defaults"


def _facts(facts: Mapping[str, Any]) -> str:
    """What builds settled, as ``name = value``; several values where stores differ."""
    return ", ".join(f"{words(k)} = {' and '.join(_json(v) for v in sequence(values))}" for k, values in facts.items())


def _json(value: Any) -> str:
    return words(json.dumps(value, ensure_ascii=False, sort_keys=True, default=str))
