"""What ``run``, ``choose`` and ``judge`` share about pre-registrations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from memassay.running.experiment import Experiment
    from memassay.running.pipeline import Place

Register = Annotated[
    bool, typer.Option("--register", help="Register the run, print the hash to publish, and build nothing.")
]
Amend = Annotated[
    str,
    typer.Option("--amend", help="Why another judge, --max-usd or the like differs from what was registered."),
]


def register_only(experiment: Experiment, place: Place, amend: str, *, json_: bool) -> None:
    """Register a run and print the hash of its registration."""
    from memassay.cli.output import emit, print_json, say
    from memassay.running.pipeline import register_experiment
    from memassay.running.registration import registration_of

    run = register_experiment(experiment, place, amend=amend)
    found = registration_of(run) or {}
    if json_:
        print_json(found)
        return
    say(f"registered {found['at']} in {place.out / 'prereg.jsonl'}; the same command without --register goes on")
    emit(found["hash"])
