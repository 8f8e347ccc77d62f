"""Whether an agent's requests hold what its arms give and nothing else."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from memassay.core import registry
from memassay.core.errors import CannotMeasure, EnvironmentProblem, MemassayError
from memassay.core.types import Usage
from memassay.running.contenders import agent_settings
from memassay.running.doctor.credentials import hidden
from memassay.running.doctor.differences import added, unintended, unsaid
from memassay.running.doctor.finding import Finding
from memassay.running.doctor.looks import Look, look_at
from memassay.running.doctor.places import shortened
from memassay.running.doctor.senders import sender_of
from memassay.running.experiment import Experiment, Limits, MemoryEntry
from memassay.running.plan import make_plan

# One memory that can be reached in every way, and whose server is its own.
_MEMORY = "markdown"
_ACCESSES = ("dossier", "tools", "folder", "tools+folder")
# A client that has not answered a script by now never will.
_LIMITS = Limits(answer_seconds=120.0)
_OUR_BUG = "report it, with the version of the agent's program: a run would measure more than its arms"
_LEAKING = (
    "what it reads there is in every answer: take agent.profile=bare, or the Claude Code that make peers installs"
)


def readiness(experiment: Experiment) -> list[Finding]:
    """Whether the agent has what it needs as it is set: its program, its packages, its key; and whether it has a price.

    Raises:
        UsageError: a setting is wrong.
    """
    name = f"agent {experiment.agent}"
    try:
        agent = _agent(experiment)
    except EnvironmentProblem as error:
        return [Finding("agent", name, "missing", f"not ready: {error}")]
    found = [Finding("agent", name, "ok", "ready")]
    try:
        # What it is comes before its key: without the program a key is of no use.
        if hasattr(agent, "identity"):
            agent.identity()
        if hasattr(agent, "prepare"):
            asyncio.run(agent.prepare())
    except MemassayError as error:
        found = [Finding("agent", name, "missing", f"not ready: {error}")]
    price = getattr(agent, "price", None)
    if price is not None and getattr(agent, "model", "none") == "real" and price(Usage(input=1, output=1)) is None:
        model = experiment.agent_options.get("model", "its model")
        words = f"the table of prices lacks {model}, so the cost will not be known and --max-usd cannot be kept"
        found.append(Finding("agent", "price", "note", words))
    return found


def with_every_access(experiment: Experiment) -> Experiment:
    """The experiment with an arm for each way in which its agent can reach a memory.

    Raises:
        UsageError: a setting of the agent is wrong.
    """
    able = frozenset({"dossier"})
    with suppress(EnvironmentProblem):  # what is missing is for the agent's own line to say
        able = getattr(_agent(experiment), "accesses", able)
    arms = [f"{_MEMORY}/{text}" for text in _ACCESSES if set(text.split("+")) <= able]
    return experiment.model_copy(update={"memories": {arm: MemoryEntry(use=arm) for arm in arms}})


def isolation(experiment: Experiment) -> list[Finding]:
    """What stands in the request of each arm, and in what two arms differ.

    Nothing leaves this machine and no credential is used: the model is a script on the loopback interface.

    Raises:
        UsageError: a setting, or an arm that the agent cannot run.
    """
    name = f"agent {experiment.agent}"
    try:
        sender = sender_of(experiment.agent, agent_settings(experiment))
    except CannotMeasure as error:
        return [Finding("isolation", name, "note", f"not looked at: {error}")]
    except EnvironmentProblem as error:
        return [Finding("isolation", name, "missing", f"not looked at: {error}")]
    found = [_outside_of_a_repository()] if sender.reads_files else []
    with hidden(), tempfile.TemporaryDirectory(prefix="memassay-doctor-") as place:
        try:
            asyncio.run(sender.prepare())
        except MemassayError as error:
            return [*found, Finding("isolation", name, "missing", f"not looked at: {error}")]
        try:
            plan = make_plan(experiment.model_copy(update={"limits": _LIMITS}))
        except EnvironmentProblem as error:
            return [*found, Finding("isolation", name, "missing", f"not looked at: {error}")]
        looks = asyncio.run(look_at(plan, sender, Path(place)))
    if sender.reads_files:
        found += [*_leaks(looks), *_not_planted(looks)]
    return [*found, *_requests(looks), *_pairs(looks)]


def _leaks(looks: Mapping[str, Look]) -> list[Finding]:
    found = []
    for name, look in looks.items():
        if look.leaks:
            places = ", ".join(dict.fromkeys(map(_place, look.leaks)))
            found.append(Finding("isolation", f"sentinels, {name}", "failed", f"it has read {places}", _LEAKING))
        elif look.body is not None:
            found.append(Finding("isolation", f"sentinels, {name}", "ok", "none of the planted words has arrived"))
    return found


def _not_planted(looks: Mapping[str, Look]) -> list[Finding]:
    """What could not be planted, and why, each file once."""
    by_reason: dict[str, dict[str, None]] = {}
    for look in looks.values():
        for path, reason in look.skipped.items():
            by_reason.setdefault(reason, {})[_place(path)] = None
    return [
        Finding("isolation", "sentinels", "note", f"not planted, since {reason}: {', '.join(paths)}")
        for reason, paths in by_reason.items()
    ]


def _place(path: Path) -> str:
    """A planted file: below the home folder as ``~/…``, elsewhere with the folder that it is in."""
    short = shortened(path)
    return short if short.startswith("~") else f"{path.parent.name}/{path.name}"


def _requests(looks: Mapping[str, Look]) -> list[Finding]:
    found = []
    for name, look in looks.items():
        if look.problem:
            problem = look.problem.replace(str(Path.home()), "~")
            lacks = Finding("isolation", f"request, {name}", "missing", problem)
            fails = Finding("isolation", f"request, {name}", "failed", problem, "no cell of this arm would count")
            found.append(lacks if look.lacks else fails)
        if look.body is None:
            continue
        wrong = unsaid(look)
        if wrong:
            found.append(Finding("isolation", f"request, {name}", "failed", "; ".join(wrong), _OUR_BUG))
        elif not look.problem:
            words = f"all that the arm gives, word for word; the client adds {added(look):,} characters of its own"
            found.append(Finding("isolation", f"request, {name}", "ok", words))
    return found


def _pairs(looks: Mapping[str, Look]) -> list[Finding]:
    seen = {name: look for name, look in looks.items() if look.body is not None}
    if len(seen) < 2:
        return [Finding("isolation", "differences", "note", "not looked at: it takes the requests of two arms")]
    wrong = unintended(seen)
    if wrong:
        return [Finding("isolation", "differences", "failed", line, _OUR_BUG) for line in wrong]
    words = f"{len(seen)} arms differ in dossier, tools and how the memory is reached, and in nothing else"
    return [Finding("isolation", "differences", "ok", words)]


def _outside_of_a_repository() -> Finding:
    """Whether the folders of cells lie outside of any repository, which a client would tell the model of."""
    folder = Path(tempfile.gettempdir()).resolve()
    around = next((above for above in (folder, *folder.parents) if (above / ".git").exists()), None)
    if around is None:
        return Finding("isolation", "folders of cells", "ok", "outside of any repository")
    words = f"inside of the repository {shortened(around)}"
    return Finding("isolation", "folders of cells", "failed", words, "set TMPDIR to a folder outside of it")


def _agent(experiment: Experiment) -> Any:
    return registry.agents.get(experiment.agent)(**agent_settings(experiment))
