"""An explanation on one screen, from 60 columns up (narrower terminals wrap). No string of a document is markup."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from memassay.reporting import figures
from memassay.reporting.explanation import ArmView, Explanation, GoldTurn, Sighting
from memassay.reporting.given import Given, Verdict
from memassay.reporting.show import excerpt
from memassay.reporting.terminal import render, wrapped
from memassay.reporting.text import middle, one_line, shorten

GOLD = "bold yellow"
MOST_USES = 12
"""Calls of tools that are shown of one answer."""


def explanation_text(explanation: Explanation, width: int = 80, *, color: bool = False) -> str:
    """The screen as text; without colour, gold in a passage stands between « and »."""
    width = max(width, 40)
    blocks: list[RenderableType] = [*_question(explanation), *_gold(explanation, width)]
    for arm in explanation.arms:
        blocks += _arm(explanation, arm, width)
    blocks += _others(explanation)
    return render(Group(*blocks), width, color)


def _question(e: Explanation) -> list[RenderableType]:
    about = [e.category, e.split if e.split != "all" else "", f"as of {e.as_of}" if e.as_of else ""]
    head = Text(one_line(e.task), "bold")
    head.append("  " + ", ".join(one_line(a) for a in about if a), "dim")
    blocks: list[RenderableType] = [head, Text(one_line(e.question))]
    if e.answer is not None:
        blocks.append(Text("gold answer: ", "dim") + Text(one_line(e.answer), "default"))
    return blocks


def _gold(e: Explanation, width: int) -> list[RenderableType]:
    blocks: list[RenderableType] = [Text("")]
    if e.excluded:
        blocks.append(Text(f"The key {one_line(e.key)} leaves this task out: {one_line(e.excluded)}", "yellow"))
    elif not e.gold:
        blocks.append(Text("It has no gold evidence: recall is undefined for this task.", "yellow"))
    for turn in e.gold:
        line = Text("gold ", "dim") + Text(one_line(turn.id), GOLD) + Text(" ")
        if turn.speaker:
            line.append(f"{one_line(turn.speaker)}: ")
        line.append(shorten(turn.text, max(60, 3 * width)))
        blocks += [line, Padding(_shared(turn), (0, 0, 0, 5))]
    if e.unresolved:
        names = ", ".join(one_line(u) for u in e.unresolved)
        blocks.append(Text(f"Evidence that names no turn in the data: {names}", "yellow"))
    for other in e.others:
        what = other.excluded or ", ".join(other.ids) or "no evidence"
        blocks.append(Text(f"under {one_line(other.key)}: {one_line(what)}", "dim"))
    return blocks


def _shared(turn: GoldTurn) -> Text:
    if turn.shared:
        return Text(f"shares with the question: {', '.join(one_line(w) for w in turn.shared)}", "dim")
    said = "shares no word with the question: only its speaker or what stands around it can bring it in"
    return Text(said, "yellow")


def _others(e: Explanation) -> list[RenderableType]:
    """How to see the other repetitions, where there are any."""
    given = [arm.given for arm in e.arms if arm.given is not None]
    most = max((g.repetitions for g in given), default=1)
    shown = max((g.repetition for g in given), default=1)
    if most == 1:
        return []
    said = f"Repetition {shown} of {most}. Another: memassay show RUN {one_line(e.task)} --repetition "
    return [Text(""), Text(f"{said}{shown % most + 1}", "dim")]


def _arm(e: Explanation, arm: ArmView, width: int) -> list[RenderableType]:
    head = Text(middle(arm.arm, width - 4), "bold cyan")
    found = f"{arm.passages:,} passages, {arm.tokens:,} tokens, "
    if arm.given is not None and "dossier" not in arm.given.access:
        found = f"{' + '.join(map(one_line, arm.given.access))}, "
    head.append(f"  {found}{arm.status}", "dim")
    blocks: list[RenderableType] = [Text(""), head]
    if arm.given is not None:
        blocks += _given(arm.given, width)
    if arm.sightings and arm.kind == "answered" and arm.passages:
        blocks.append(_table(e, arm, width))
    for sentence in arm.why:
        blocks.append(Text(one_line(sentence), "yellow"))
    gold = {turn.id: turn.text for turn in e.gold}
    for shown in arm.shown:
        mark = f" holds {', '.join(map(one_line, shown.gold))}" if shown.gold else ""
        kind = "" if shown.kind == "verbatim" else f" {one_line(shown.kind)}"
        label = Text(f"[{shown.rank}]", "bold" if shown.gold else "dim")
        label.append(f" from token {shown.offset:,}{kind}", "dim")
        label.append(mark, GOLD)
        before, found, after = excerpt(shown.text, gold[shown.gold[0]] if shown.gold else None, 2 * (width - 6))
        body = Text(before)
        if found:
            body.append(f"«{found}»", GOLD)
        body.append(after)
        blocks += [label, Padding(body, (0, 0, 0, 4))]
    left = arm.passages - len(arm.shown)
    if left > 0:
        blocks.append(Text(f"{left:,} more passages", "dim"))
    return blocks


def _given(given: Given, width: int) -> list[RenderableType]:
    """The answer, what each judge said, what it took, and the tools that were used."""
    said = Text("answered: ", "dim")
    said.append("nothing" if given.text is None else shorten(given.text, 4 * width), "bold" if given.text else "dim")
    if given.repetitions > 1:
        said.append(f"  ({given.repetition} of {given.repetitions})", "dim")
    if given.model == "scripted":
        said.append("  a script's words, not a model's", "bold magenta")
    blocks: list[RenderableType] = [said]
    blocks += [Padding(_verdict(verdict, given, width), (0, 0, 0, 2)) for verdict in given.verdicts]
    blocks.append(Padding(Text(_spent(given), "dim"), (0, 0, 0, 2)))
    for use in given.uses[:MOST_USES]:
        blocks.append(Padding(Text(f"{use.tool}({use.arguments})", "dim"), (0, 0, 0, 2)))
    left = len(given.uses) - MOST_USES
    if left > 0:
        blocks.append(Padding(Text(f"{left:,} more calls", "dim"), (0, 0, 0, 2)))
    return blocks


def _verdict(verdict: Verdict, given: Given, width: int) -> Text:
    line = Text(one_line(verdict.judge), "cyan")
    if verdict.model == "scripted" and given.model != "scripted":
        line.append(" (a script)", "magenta")
    if verdict.status != "ok":
        line.append(f" {verdict.status}", "yellow")
    if verdict.label:
        line.append(f" {one_line(verdict.label)}", "bold")
    scores = ", ".join(f"{one_line(name)} {_score(value)}" for name, value in verdict.scores.items())
    line.append(f"  {scores}", "dim")
    if verdict.explanation:
        line.append(f"  {shorten(verdict.explanation, 3 * width)}")
    return line


def _score(value: float | None) -> str:
    return figures.DASH if value is None else f"{value:g}" if value in (0, 1) else figures.share(value)


def _spent(given: Given) -> str:
    spent = given.spent
    kinds = [("input", spent.input), ("output", spent.output)]
    kinds += [("cache read", spent.cache_read), ("cache write", spent.cache_write)]
    said = [f"{figures.integer(count)} {name}" for name, count in kinds]
    parts = [f"tokens: {', '.join(said)}"] if any(count for _, count in kinds) else ["no tokens"]
    if spent.cost_usd is not None or spent.reported_usd is not None:
        ours, theirs = (figures.money(paid) for paid in (spent.cost_usd, spent.reported_usd))
        parts.append(f"{ours} by our table, {theirs} as reported")
    if spent.turns:
        parts.append(f"turns: {spent.turns}, tool calls: {spent.tool_calls}")
    return "; ".join([*parts, figures.seconds(spent.seconds)])


def _table(e: Explanation, arm: ArmView, width: int) -> Table:
    """Gold turns down, budgets across, then the recorded score under each gold key."""
    table = Table(box=None, padding=(0, 0, 0, 2), pad_edge=False, show_edge=False)
    budgets = list(e.budgets)
    # Rank and need take 17 columns, a budget 5 or more; the largest budgets are kept where not all fit.
    while len(budgets) > 1 and 17 + _span(budgets) + 14 > width:
        budgets.pop(0)
    name = max(8, width - 17 - _span(budgets))
    table.add_column(Text("gold", "dim"), no_wrap=True)
    for title in ("rank", "needs"):
        table.add_column(Text(title, "dim"), justify="right", no_wrap=True)
    for budget in budgets:
        table.add_column(Text(figures.short_integer(budget), "dim"), justify="right", no_wrap=True)
    kept = [e.budgets.index(b) for b in budgets]
    for s in arm.sightings:
        table.add_row(Text("\n".join(wrapped(s.id, name))), *_position(s), *(_found(s.found[i]) for i in kept))
    for label, values in _scores(arm, budgets):
        cells = [Text(figures.DASH if v is None else f"{v:g}", "dim") for v in values]
        table.add_row(Text("\n".join(wrapped(label, name)), "dim"), Text(""), Text(""), *cells)
    return table


def _scores(arm: ArmView, budgets: Sequence[int]) -> list[tuple[str, list[float | None]]]:
    """The recorded ``all`` at each budget under each gold key; one line where every key says the same."""
    found = [(_key(judge), [s.get(f"all@{b}") for b in budgets]) for judge, s in arm.scores.items()]
    found = [(key, values) for key, values in found if any(v is not None for v in values)]
    if len(found) > 1 and all(values == found[0][1] for _, values in found):
        return [("all, every key", found[0][1])]
    return [(f"all, {key}", values) for key, values in found]


def _span(budgets: Sequence[int]) -> int:
    return sum(max(3, len(figures.short_integer(b))) + 2 for b in budgets)


def _key(judge: str) -> str:
    """The gold key in a judge's id: ``evidence`` is the original, ``evidence-audit-corrected`` the corrected one."""
    return "original" if judge == "evidence" else judge.removeprefix("evidence-")


def _position(s: Sighting) -> Sequence[Text]:
    if s.rank is None:
        return Text("not in", "yellow"), Text("dossier", "yellow")
    return Text(f"{s.rank:,}"), Text(figures.integer(s.needs))


def _found(found: bool) -> Text:
    return Text("yes", "green") if found else Text("–", "dim")
