"""The words of a request as a model reads them; every agent with a model sends exactly these.

``message(request) -> str`` is the user's message, ``INSTRUCTIONS`` what an agent is told where the suite says nothing.
What a suite says (:class:`Instructions`) is the same in every arm, but for how the memory is reached.
Nothing is filled in twice: a dossier or a question may hold braces, tags and commands, and they stay what they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memassay.core.types import Request

INSTRUCTIONS = (
    "You answer questions from a memory of past documents. Use only what the memory gives you. "
    "Answer with the shortest phrase that answers the question, and nothing else. "
    "If the memory does not hold the answer, say that you do not know."
)


def message(request: Request) -> str:
    """The user's message: what the memory found (where the arm gives a dossier), the date, the question.

    It begins with a fixed word, so no question is ever read as a command of a client.
    """
    parts: list[str] = []
    if request.dossier is not None:
        parts.append(f"From the memory:\n\n{request.dossier.strip() or '(The memory found nothing.)'}\n")
    if request.as_of is not None:
        parts.append(f"Today is {request.as_of}.")
    parts.append(f"Question: {request.prompt}")
    return "\n".join(parts)


@dataclass(frozen=True, slots=True)
class Instructions:
    """The instructions of a suite; ``instructions(access)`` are those of an arm.

    Attributes:
        task: what is to be done, with ``{reach}`` where it says how the memory is reached.
        dossier, tools, folder: the sentence for each access.
    """

    task: str
    dossier: str
    tools: str
    folder: str

    def __call__(self, access: Sequence[str]) -> str:
        reach = {"dossier": self.dossier, "tools": self.tools, "folder": self.folder}
        return self.task.format(reach=" ".join(sentence for part, sentence in reach.items() if part in access))
