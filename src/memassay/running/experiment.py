"""What a run is, in one frozen value: from a TOML file, from flags, or from both (flags win)."""

from __future__ import annotations

import inspect
import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from memassay.core import registry
from memassay.core.errors import UnknownName, UsageError, suggestion
from memassay.core.tokens import DEFAULT_TOKENS

BUDGETS = (1000, 2000, 4000, 8000, 12000)
KS = (5, 10, 20)
NO_AGENT = "none"
AGENT, JUDGE = "agent", "judge"
"""What ``--set agent.key=value`` and ``--set judge.key=value`` set."""

# What is written for a judge's name; no model is called so.
_MISTAKEN = {
    **dict.fromkeys(("strict", "judge", "binry", "binery"), "binary"),
    **dict.fromkeys(("generous", "loose", "lenien", "leniant"), "lenient"),
}


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Primary(_Table):
    """The one question fixed before the run: is ``a`` better than ``b`` on ``metric`` over ``split``?"""

    metric: str
    split: str = "all"
    a: str
    b: str


class MemoryEntry(BaseModel):
    """A memory under a name of its own; every further key is a setting of it."""

    model_config = ConfigDict(frozen=True, extra="allow")

    use: str
    role: Literal["contender", "baseline"] = "contender"

    @property
    def options(self) -> dict[str, JsonValue]:
        return dict(self.model_extra or {})


class JudgeEntry(_Table):
    """A judge with a model.

    Attributes:
        use: the registered judge: ``binary``, or ``lenient`` for its other wording.
        model: the model that judges, by its name for :func:`memassay.models.names.open_model`.
        options: how to reach it (``base_url``, ``key_env``); see docs/agents.md.
    """

    use: str = "binary"
    model: str
    options: Mapping[str, JsonValue] = Field(default_factory=dict)

    @property
    def of_pairs(self) -> bool:
        """Whether it compares what two arms found, instead of judging one answer; False for a judge not known here."""
        try:
            return bool(getattr(registry.judges.get(self.use), "pairs", False))
        except UnknownName:
            return False


class Limits(_Table):
    """Limits of the harness; a memory or an agent that exceeds one has failed.

    Attributes:
        build_seconds, retrieve_seconds, answer_seconds: per store, per question, per answer.
        turns: calls of the model per answer, or None.
        usd: dollars per answer, or None.
    """

    build_seconds: float = Field(600.0, gt=0)
    retrieve_seconds: float = Field(60.0, gt=0)
    answer_seconds: float = Field(600.0, gt=0)
    turns: int | None = Field(30, ge=1)
    usd: float | None = Field(None, gt=0)


class Experiment(_Table):
    """A run before it is planned.

    Attributes:
        suite: registered name.
        options: the suite's settings (``data``, ``corrections``, ``sample``, …).
        memories: arms' memories by name, in order.
        budgets: context tokens at which everything is scored, ascending.
        ks: numbers of passages.
        categories, scopes: filters; empty means all that the suite reports by default.
        limit: tasks in all, round-robin over clusters, or None.
        builds: build replicates per store.
        repetitions: answers per task, arm and build.
        agent: what answers; ``none`` at the retrieval stage. Its dossier is cut at the largest budget.
        agent_options: the agent's settings, ``model`` among them.
        judges: judges with a model, beside the suite's own graders.
        max_usd: the run stops before it costs more, task by task; no part of what the run is.
        registered: the hash of an entry that the run's pre-registration must hold; no part of what the run is.
        primary: the one comparison with a verdict, or None.
    """

    suite: str
    stage: Literal["retrieval", "answer"] = "retrieval"
    options: Mapping[str, JsonValue] = Field(default_factory=dict)
    memories: Mapping[str, MemoryEntry] = Field(default_factory=dict)
    agent: str = "none"
    agent_options: Mapping[str, JsonValue] = Field(default_factory=dict)
    judges: tuple[JudgeEntry, ...] = ()
    tokens: str = DEFAULT_TOKENS
    budgets: tuple[int, ...] = BUDGETS
    ks: tuple[int, ...] = KS
    categories: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    limit: int | None = Field(None, ge=1)
    builds: int = Field(1, ge=1)
    repetitions: int = Field(1, ge=1)
    max_usd: float | None = Field(None, gt=0)
    registered: str | None = None
    seed: int = 0
    controls: bool = True
    limits: Limits = Limits()
    primary: Primary | None = None


class Sketch(Experiment):
    """An experiment that is planned and not run: what its agent is made of need not be on this machine."""


def read_experiment(path: Path) -> dict[str, Any]:
    """The tables of an experiment file, unchecked.

    Raises:
        UsageError: it is not there or not TOML, with the line.
    """
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError as error:
        raise UsageError(f"There is no experiment file {str(path)!r}.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path.name} cannot be read: {error}.") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path.name} is not TOML: {error}.") from error


def experiment_of(tables: Mapping[str, Any]) -> Experiment:
    """Check the tables and freeze them; what they leave out is the suite's default, else the one here.

    Raises:
        UsageError: an unknown key (with "did you mean") or a wrong value, named by its dotted place.
    """
    try:
        given = {name: value for name, value in tables.items() if name != "memories" or value}
        whole = {**_fitting(suite_defaults(tables.get("suite")), given), **given}
        answers = whole.get("agent", NO_AGENT) != NO_AGENT
        experiment = Experiment.model_validate({"stage": "answer" if answers else "retrieval", **whole})
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            fields = _fields(first["loc"][:-1])
            raise UsageError(
                f"Unknown key {place!r} in the experiment.{suggestion(str(first['loc'][-1]), fields)}"
            ) from error
        raise UsageError(f"Experiment, {place}: {first['msg']} (got {first['input']!r:.80}).") from error
    for name, values in (("budgets", experiment.budgets), ("ks", experiment.ks)):
        if any(v < 1 for v in values) or list(values) != sorted(set(values)):
            raise UsageError(f"Experiment, {name}: give whole numbers above 0, ascending, none twice.")
    if not experiment.budgets:
        raise UsageError("Experiment, budgets: name at least one budget in tokens.")
    _check_stage(experiment)
    return experiment


def _fitting(defaults: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """A suite's defaults without a primary whose arms this experiment lacks."""
    primary = defaults.get("primary")
    arms = given.get("memories", defaults.get("memories", {}))
    lacks = primary is not None and not {primary["a"], primary["b"]} <= set(arms)
    return {name: value for name, value in defaults.items() if not (lacks and name == "primary")}


def _check_stage(experiment: Experiment) -> None:
    """What belongs to answers needs an agent, and an agent answers."""
    answers = experiment.stage == "answer"
    if answers and experiment.agent == NO_AGENT:
        raise UsageError("The stage 'answer' needs an agent: --agent extractive needs no key.")
    if not answers and experiment.agent != NO_AGENT:
        raise UsageError(f"The stage 'retrieval' asks no agent; leave --stage out, or --agent {experiment.agent}.")
    settings = dict(experiment.agent_options)
    given = {
        "--model": settings.pop("model", None) is not None,
        "--set agent.…": bool(settings),
        "--judge": any(not judge.of_pairs for judge in experiment.judges),
        "--repetitions": experiment.repetitions > 1,
    }
    asked = [flag for flag, there in given.items() if there]
    if not answers and asked:
        one = "--agent api asks a model" if "--model" in asked else "--agent extractive needs no key"
        need = "need" if len(asked) > 1 else "needs"
        raise UsageError(f"{' and '.join(asked)} {need} an agent; name one with --agent: {one}.")


def suite_defaults(suite: Any) -> Mapping[str, Any]:
    """What a suite declares in its attribute ``defaults``, such as ``{"ks": (2, 5)}``; nothing for an unknown name."""
    if not isinstance(suite, str) or suite not in registry.suites.names():
        return {}
    return getattr(registry.suites.get(suite), "defaults", {})


def _fields(place: Sequence[Any]) -> list[str]:
    tables: dict[str, type[BaseModel]] = {"primary": Primary, "limits": Limits, "judges": JudgeEntry}
    model = tables.get(str(place[0]), Experiment) if place else Experiment
    return list(model.model_fields)


def memory_entries(names: str) -> dict[str, dict[str, Any]]:
    """``A,B,NAME=A`` as the ``memories`` table.

    Raises:
        UsageError: an empty or doubled name.
    """
    entries: dict[str, dict[str, Any]] = {}
    for item in (part.strip() for part in names.split(",")):
        if not item:
            raise UsageError("--memory has an empty name; write --memory files,lexical.")
        alias, equals, use = item.partition("=")
        name, use = (alias, use) if equals else (item, item)
        if not equals and registry.is_file(registry.with_access(item)[0]):
            name = item.rpartition(":")[2]
        if name in entries:
            raise UsageError(f"--memory names {name!r} twice; give the second a name of its own: {name}-2={use}.")
        entries[name] = {"use": use}
    return entries


_OTHER = {"binary": "lenient:MODEL", "pairwise": "scripted-pairs:NAME"}


def judge_entry(text: str, usual: str = "binary") -> dict[str, str]:
    """``MODEL`` or ``JUDGE:MODEL`` as an entry of ``judges``; ``usual`` is the judge where none is named.

    Raises:
        UsageError: the model is missing, or what stands before the colon is another name for a judge.
    """
    use, colon, model = text.partition(":")
    # A model's own name may hold a colon ("qwen2:0.5b"): only a judge's name in front of it is one.
    known = colon and use in registry.judges.names()
    meant = _MISTAKEN.get(use.lower(), "") if colon and not known else ""
    if meant:
        raise UsageError(f"--judge {text!r}: there is no judge {use!r}. Did you mean {meant}:{model or 'MODEL'}?")
    if known and "model" not in inspect.signature(registry.judges.get(use)).parameters:
        raise UsageError(f"--judge {text!r}: {use!r} asks no model; write --judge MODEL or --judge lenient:MODEL.")
    found = {"use": use, "model": model} if known else {"use": usual, "model": text}
    if not found["model"]:
        raise UsageError(f"--judge {text!r}: write --judge MODEL, {usual}:MODEL (the same) or {_OTHER.get(usual)}.")
    return found


def apply_settings(
    entries: dict[str, dict[str, Any]],
    settings: Sequence[str],
    others: Mapping[str, dict[str, Any]] | None = None,
) -> None:
    """Apply ``NAME.key=value`` flags; values are JSON where they parse as JSON, else text.

    Args:
        entries: the memories.
        settings: the flags.
        others: tables beside the memories, such as that of ``agent``.

    Raises:
        UsageError: a malformed flag, or a memory that this run does not have.
    """
    for setting in settings:
        place, equals, value = setting.partition("=")
        name, dot, key = place.rpartition(".")
        if not (equals and dot and name and key):
            raise UsageError(f"--set {setting!r}: write --set NAME.key=value, for example --set lexical.window=3.")
        table = (others or {}).get(name, entries.get(name))
        if table is None:
            raise UsageError(f"--set {setting!r}: this run has no memory {name!r}.{suggestion(name, entries)}")
        table[key] = _value(value)


def _value(text: str) -> Any:
    """JSON where it is JSON, else text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    # A number that is not in its usual form ("1e3") stays as it was typed: it becomes 1000.0 where a setting asks so.
    return text if isinstance(value, (int, float)) and json.dumps(value) != text.strip() else value
