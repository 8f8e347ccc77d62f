"""``memassay doctor``: whether this machine and this agent can make a run that counts.

``examine(experiment) -> list[Finding]``; ``exit_code(found) -> 0, 1 or 3``.
"""

from __future__ import annotations

from memassay.running.doctor.credentials import credentials
from memassay.running.doctor.finding import Finding, exit_code
from memassay.running.doctor.isolation import isolation, readiness, with_every_access
from memassay.running.doctor.places import data_sets, disk, prices
from memassay.running.doctor.versions import versions
from memassay.running.experiment import NO_AGENT, Experiment

__all__ = ["Finding", "examine", "exit_code", "with_every_access"]


def examine(experiment: Experiment) -> list[Finding]:
    """Look at the machine and, where the experiment names an agent, at the agent and its arms' requests.

    Raises:
        UsageError: a setting of the agent is wrong, or it cannot run an arm.
    """
    options = experiment.agent_options
    named = options.get("binary") if experiment.agent == "claude-code" else None
    found = [
        *versions(named if isinstance(named, str) else None),
        *credentials(options),
        *disk(),
        *data_sets(),
        *prices(),
    ]
    if experiment.agent != NO_AGENT:
        found += [*readiness(experiment), *isolation(experiment)]
    return found
