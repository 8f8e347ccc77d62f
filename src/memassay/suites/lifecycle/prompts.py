"""What an agent is told in each stage. The same for every memory: how it is reached is told by its tools.

A question that somebody must not be able to answer (before a promotion, after a rollback) is put in the words of one
that can be answered: whoever is asked must not be told which it is.
"""

from __future__ import annotations

from memassay.suites.lifecycle.stages import Stage

SCAFFOLD = (
    "You are an analyst's assistant. Your work goes on over many sessions, and nothing of an earlier conversation is "
    "in this one: what you need later you must save with the tools of your memory, and what was told before you must "
    "look up there. Search first, before you look at any data. Ground every statement in what your tools return, "
    "never in what a word usually means. You may make at most {budget} tool calls."
)
TELL = (
    "You are told something now. Record it in your memory so that it is found again, link it to the dataset that it is "
    "about, and confirm in one line."
)
ASK = (
    "You are asked a question. Find what its words mean, work the answer out from the data, and end with one line "
    "'FINAL ANSWER: ' and the answer alone: a number without units, or a name."
)
REFUSE = (
    "You are asked a question that may have no answer. If what you can find answers it, end with one line "
    "'FINAL ANSWER: ' and the answer alone. Else do not guess and do not estimate: answer exactly "
    "INSUFFICIENT INFORMATION."
)
TWIN = "twin"


def system_prompt(stage: Stage, budget: int) -> str:
    """What the agent of a stage is told.

    Args:
        stage: one with an agent.
        budget: the most tool calls.
    """
    return f"{SCAFFOLD.format(budget=budget)}\n\n{_rule(stage)}"


def instructions() -> str:
    """Every word that an agent of the suite can be told, for the manifest."""
    return "\n\n".join((SCAFFOLD, TELL, ASK, REFUSE))


def _rule(stage: Stage) -> str:
    if stage.kind == "tell":
        return TELL
    # The answerable twin stands beside the question without an answer and must look like it.
    return REFUSE if stage.grading is None or stage.name == TWIN else ASK
