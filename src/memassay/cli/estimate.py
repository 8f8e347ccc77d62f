"""What a run would do and cost, said before it does it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memassay.cli.progress import Bar

if TYPE_CHECKING:
    from memassay.running.experiment import Experiment

_COST = "cost in US dollars"
_SHOWN = ("answers", "judgements", "tokens sent", _COST, "no price is known for", "reckoned from", "stops before")


class AnnouncingBar(Bar):
    """A bar that says what a run with an agent will do: once nothing refuses the run, and before anything is spent."""

    def __init__(self, experiment: Experiment) -> None:
        super().__init__()
        self._experiment = experiment if experiment.stage == "answer" else None

    def stage(self, name: str, total: int | None) -> None:
        if name == "build" and self._experiment is not None:
            _announce(self._experiment)
        super().stage(name, total)


def _announce(experiment: Experiment) -> None:
    from memassay.cli.output import say
    from memassay.running.estimate import costs_of, estimate_of
    from memassay.running.plan import make_plan

    plan = make_plan(experiment)
    for line in about(plan.suite):
        say(line)
    arms, judging = costs_of(plan)
    free = judging == 0 and all(cost == 0 for cost in arms.values())
    found = estimate_of(plan)
    for name in ("answers", "judgements") if free else _SHOWN:
        if name in found:
            say(f"{name}: {shown(name, found[name])}")


def shown(name: str, value: Any) -> str:
    """A value of an estimate for a person."""
    from memassay.running.estimate import dollars

    return dollars(value) if name == _COST else "not known" if value is None else str(value)


def estimate_without_programs(experiment: Experiment) -> dict[str, Any]:
    """The estimate of a run, also where something that the run needs is not installed here, which it then says.

    Raises:
        UsageError: the experiment cannot be run anywhere.
    """
    from memassay.core.errors import EnvironmentProblem
    from memassay.running.build import make_memories
    from memassay.running.estimate import estimate_of
    from memassay.running.experiment import Sketch
    from memassay.running.plan import make_plan

    sketch = Sketch(**dict(experiment))
    try:
        plan, lacking = make_plan(sketch), ""
    except EnvironmentProblem as error:
        if not sketch.judges:
            raise
        plan, lacking = make_plan(sketch.model_copy(update={"judges": ()})), f"the judges are not counted: {error}"
    make_memories(plan)
    found = {"suite": experiment.suite, **({"about": "; ".join(told)} if (told := about(plan.suite)) else {})}
    return found | estimate_of(plan) | ({"missing here": lacking} if lacking else {})


def about(suite: Any) -> list[str]:
    """What a suite says of what it would ask, a line each; nothing where it says nothing."""
    said = getattr(suite, "about", None)
    return [str(line) for line in said()] if said else []
