"""``memassay doctor``: versions, credentials by presence, disk, data, and what an agent really sends."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from memassay.cli.experiment import AgentFlag, Arms, Model, Preset, Settings, StoreFolder

_HELP = """Look at what a run would use, and at what an agent really sends.

    memassay doctor

    memassay doctor --agent claude-code --model claude-opus-4-8

    memassay doctor --agent api --model MODEL --arm markdown/tools --arm lexical/dossier

With an agent it sends one request per arm (one per access where none is named) to a scripted server on this machine
and compares what arrived: it needs no key and reaches nothing. For claude-code it plants words where Claude Code might
pick them up, in your own folders too, and removes them at once; what is there already is never touched. Credentials are
shown as set or not set. Exit code 1: a check failed. 3: something that the agent needs is missing.
"""
_WORDS = {"ok": "ok", "note": "note", "failed": "FAILED", "missing": "MISSING"}


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command(help=_HELP)
    def doctor(
        agent: AgentFlag = None,
        model: Model = None,
        arm: Arms = None,
        preset: Preset = None,
        store: StoreFolder = None,
        set_: Settings = None,
        json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    ) -> None:
        from memassay.cli.experiment import experiment_from
        from memassay.cli.output import emit, print_json
        from memassay.core.errors import UsageError
        from memassay.running.doctor import examine, exit_code, with_every_access

        if agent is None and (model or arm or preset or store or set_):
            raise UsageError("--model, --arm, --preset, --store and --set are about an agent; name it with --agent.")
        # One question of the built-in sample, and no more than that is built.
        experiment = experiment_from(
            "locomo",
            arm=arm,
            preset=preset,
            store=store,
            agent=agent,
            model=model,
            set_=set_,
            sample=True,
            limit=1,
            no_controls=True,
        )
        if agent is not None and not experiment.memories:
            experiment = with_every_access(experiment)
        found = examine(experiment)
        code = exit_code(found)
        if json_:
            print_json({"exit_code": code, "findings": [asdict(finding) for finding in found]})
        else:
            section = ""
            for finding in found:
                if finding.section != section:
                    section = finding.section
                    emit(f"\n{section}" if finding is not found[0] else section)
                fix = f"\n{'':10}-> {finding.fix}" if finding.fix else ""
                emit(f"  {_WORDS[finding.state]:<7} {finding.name}: {finding.detail}{fix}")
        raise typer.Exit(code)
