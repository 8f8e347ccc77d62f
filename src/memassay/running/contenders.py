"""The arms of an experiment: memories, accesses and the agent, bound and checked before anything is made."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memassay.core import registry
from memassay.core.digest import canonical_json
from memassay.core.errors import CannotMeasure, EnvironmentProblem, UnknownName, UsageError, suggestion
from memassay.core.registry import Source, bind_options
from memassay.core.types import Arm
from memassay.core.views import CONTROLS
from memassay.running.experiment import NO_AGENT, Experiment, Sketch
from memassay.running.judges import model_kind, model_name
from memassay.running.secrets import refuse_secrets

SPEAKS = "speaks"
"""In an agent's identity: whether a real model speaks through it, a scripted one, or none."""
ACCESSES = ("dossier", "tools", "folder")
_PLACES = frozenset({"binary", "file", "path", "store"})
_INTERNAL = "noop"
_MORE = {("claude-code", "folder"): "; for files, add --set agent.profile=scoped"}
_ARM_NAME = re.compile(r"[\w][\w.+@/-]{0,63}")


def contenders(experiment: Experiment) -> tuple[list[Arm], dict[str, Source]]:
    if not experiment.memories:
        raise UsageError(f"Name at least one memory: --memory {','.join(registry.memories.names()[:2]) or 'files'}.")
    agent, agent_options = (None, {}) if experiment.agent == NO_AGENT else _agent(experiment)
    arms: list[Arm] = []
    sources: dict[str, Source] = {}
    for name, entry in experiment.memories.items():
        if name in CONTROLS or not _ARM_NAME.fullmatch(name):
            raise UsageError(
                f"{name!r} cannot name an arm (it is a control's name or has odd characters); use NAME=MEMORY."
            )
        base, text = registry.with_access(entry.use)
        access = _access_of(name, text, base, experiment)
        factory = registry.memories.get(base)
        refuse_secrets(entry.options, f"memory {name!r}")
        options = _plain(bind_options(factory, entry.options, f"memory {name!r}"))
        if agent is not None:
            with _missing_here(experiment):
                _check(agent, experiment.agent, name, access, base, options)
        arms.append(
            Arm(
                name=name,
                memory=base,
                options=options,
                access=access,
                role=entry.role,
                agent=experiment.agent,
                agent_options=agent_options,
            )
        )
        sources[base] = registry.memories.source(base)
    return arms, sources


def _access_of(name: str, text: str, memory: str, experiment: Experiment) -> tuple[str, ...]:
    """``tools+folder`` as accesses; nothing said is what the memory's class names in ``access``, else the dossier."""
    access = tuple(text.split("+")) if text else getattr(registry.memories.get(memory), "access", ("dossier",))
    for part in access:
        if part not in ACCESSES:
            raise UsageError(f"Arm {name!r}: unknown access {part!r}.{suggestion(part, ACCESSES)}")
    if len(set(access)) < len(access):
        raise UsageError(f"Arm {name!r} names an access twice; write each once.")
    if experiment.stage == "retrieval" and access != ("dossier",):
        raise UsageError(
            f"Arm {name!r}: without an agent there is one access, 'dossier'; add --agent to give it "
            f"{'+'.join(access)!r}."
        )
    return access


def _check(
    agent: Any, agent_name: str, arm: str, access: Sequence[str], memory: str, options: Mapping[str, Any]
) -> None:
    """As :func:`check_access`; what the agent lacks here is no obstacle where the memory lacks something too."""
    try:
        check_access(agent, agent_name, arm, access, memory)
    except EnvironmentProblem:
        try:
            registry.memories.get(memory)(**options)
        except CannotMeasure:
            return  # the arm is left out, and says why
        raise


def check_access(agent: Any, agent_name: str, arm: str, access: Sequence[str], memory: str) -> None:
    """Refuse an arm that the agent cannot work with.

    Raises:
        UsageError: in one sentence, with what to do.
    """
    able = getattr(agent, "accesses", frozenset({"dossier"}))
    for part in access:
        if part not in able:
            more = _MORE.get((agent_name, part), "")
            raise UsageError(
                f"Agent {agent_name!r} cannot use {part!r}, which arm {arm!r} gives it; it can use "
                f"{', '.join(sorted(able))}{more}."
            )
    check = getattr(agent, "check", None)
    if check is not None:
        asked = {"memory": memory} if "memory" in inspect.signature(check).parameters else {}
        check(frozenset(access), **asked)


def said_of_itself(arm: Arm) -> dict[str, Any]:
    """What an arm's memory says of itself; nothing where it says nothing or is not installed here."""
    factory = registry.memories.get(arm.memory)
    if not hasattr(factory, "identity"):
        return {}
    try:
        return dict(factory(**arm.options).identity())
    except CannotMeasure:
        return {}


def agent_settings(experiment: Experiment) -> dict[str, Any]:
    """The settings of the experiment's agent, checked, with its defaults.

    Raises:
        UsageError: no such agent, no such setting, no model where it needs one, or a secret.
    """
    name, given = experiment.agent, experiment.agent_options
    try:
        factory = registry.agents.get(name)
    except UnknownName as error:
        raise UnknownName(error.kind, name, [known for known in error.known if known != _INTERNAL]) from None
    parameters = inspect.signature(factory).parameters
    if "model" in given and "model" not in parameters:
        own = "takes its model as a file: --set agent.path=FILE" if "path" in parameters else "has no model"
        raise UsageError(f"Agent {name!r} {own}; leave --model out.")
    if "model" in parameters and "model" not in given and parameters["model"].default is inspect.Parameter.empty:
        raise UsageError(f"Agent {name!r} needs the setting 'model': name one with --model.")
    refuse_secrets(given, f"agent {name!r}")
    return bind_options(factory, given, f"agent {name!r}")


def _agent(experiment: Experiment) -> tuple[Any, dict[str, Any]]:
    """The experiment's agent, made once to see that it can be, and its settings."""
    options = _plain(agent_settings(experiment))
    return registry.agents.get(experiment.agent)(**options), options


@contextmanager
def _missing_here(experiment: Experiment) -> Iterator[None]:
    """What is not installed here stops a run, and no plan."""
    try:
        yield
    except EnvironmentProblem:
        if not isinstance(experiment, Sketch):
            raise


def agent_identity(experiment: Experiment) -> dict[str, Any] | None:
    """What of the agent can change a number: what it says of itself, and what speaks through it."""
    if experiment.agent == NO_AGENT:
        return None
    agent, _ = _agent(experiment)
    says: dict[str, Any] = {}
    with _missing_here(experiment):
        says |= agent.identity() if hasattr(agent, "identity") else {}
    return {**says, SPEAKS: model_kind(agent)}


def _plain(options: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as they are written into the run: a default that is a tuple becomes a list."""
    plain: dict[str, Any] = json.loads(canonical_json(options))
    return plain


def without_places(options: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as they are written down: of what names a place on this machine only its last part.

    What is in it is in what the memory or the agent says of itself.
    """
    return {key: _last_part(key, value) for key, value in options.items()}


def _last_part(key: str, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if key == "model":
        return model_name(value)
    return Path(value).name if key in _PLACES else value
