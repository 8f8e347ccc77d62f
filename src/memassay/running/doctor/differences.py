"""What the requests of arms differ in, beside what they are meant to differ in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import combinations, takewhile
from typing import Any

from memassay.agents.claude_code.probe import differences, settled
from memassay.core.asking import INSTRUCTIONS, message
from memassay.core.types import Request
from memassay.running.doctor.looks import Look

_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_SYSTEM, _MESSAGE = "[the instructions]", "[the message]"


def unsaid(look: Look) -> list[str]:
    """What an arm gives that is not in its request as it is: instructions, message, tools; and tools that it has not.

    The message of an arm holds its dossier.
    """
    assert look.request is not None
    texts = _words([look.body.get("system"), look.body.get("messages")])
    missing = [
        what
        for what, words in (("the instructions", _system(look.request)), ("the question", message(look.request)))
        if not any(words in text for text in texts)
    ]
    names = _tool_names(look.body)
    lacking = sorted((look.tools or frozenset()) - set(names))
    more = [] if look.tools is None else sorted(set(names) - look.tools)
    return [
        *(f"{what} did not arrive word for word" for what in missing),
        *([f"tools that did not arrive: {', '.join(lacking)}"] if lacking else []),
        *([f"tools that the arm does not give: {', '.join(more)}"] if more else []),
    ]


def unintended(looks: Mapping[str, Look]) -> list[str]:
    """Where the requests of two arms differ though they should not, one line per pair.

    Meant to differ are the dossier, the tools, and the sentence of the instructions on how the memory is reached.
    """
    rests = {name: rest(look) for name, look in looks.items()}
    found = []
    for first, second in combinations(looks, 2):
        places = [*_told_apart(looks[first], looks[second]), *differences(rests[first], rests[second])]
        if places:
            found.append(f"{first} and {second} differ in {', '.join(places)}")
    return found


def rest(look: Look) -> Any:
    """A request's body without what the arm put into it, and without the moment and the machine."""
    assert look.request is not None
    ours = {_system(look.request): _SYSTEM, message(look.request): _MESSAGE}
    body = _replaced(look.body, ours)
    tools = body.pop("tools", None) or []
    body["tools"] = [tool for tool in tools if look.tools is not None and _name(tool) not in look.tools]
    folders = [folder for folder in (look.request.toolset.folder, look.request.workdir) if folder is not None]
    return settled(body, *folders)


def added(look: Look) -> int:
    """How many characters of instructions and messages are the client's own."""
    body = rest(look)
    words = "".join(_words([body.get("system"), body.get("messages")]))
    return len(words.replace(_SYSTEM, "").replace(_MESSAGE, ""))


def _told_apart(first: Look, second: Look) -> list[str]:
    """What of our own words differs beyond the dossier and the sentence on the access."""
    assert first.request is not None and second.request is not None
    found = []
    if not _differ_in_reach(_system(first.request), _system(second.request), _accesses(first), _accesses(second)):
        found.append("the instructions, in more than how the memory is reached")
    if len({message(r.model_copy(update={"dossier": None})) for r in (first.request, second.request)}) > 1:
        found.append("the question")
    return found


def _differ_in_reach(first: str, second: str, most_first: int, most_second: int) -> bool:
    """Whether two texts are equal but for one place, with at most so many sentences there."""
    one, other = _SENTENCE.split(first), _SENTENCE.split(second)
    before = _same(one, other)
    after = _same(one[before:][::-1], other[before:][::-1])
    return len(one) - before - after <= most_first and len(other) - before - after <= most_second


def _same(first: Sequence[str], second: Sequence[str]) -> int:
    """How many parts are the same from the beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))


def _accesses(look: Look) -> int:
    request = look.request
    assert request is not None
    return (request.dossier is not None) + bool(request.toolset.servers) + (request.toolset.folder is not None)


def _system(request: Request) -> str:
    return request.system or INSTRUCTIONS


def _replaced(value: Any, words: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _replaced(item, words) for key, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item, words) for item in value]
    if isinstance(value, str):
        for old, new in words.items():
            value = value.replace(old, new)
    return value


def _words(value: Any) -> list[str]:
    """The texts of instructions and messages, without what describes them (roles, types)."""
    if isinstance(value, dict):
        return [*_words(value.get("text")), *_words(value.get("content"))]
    if isinstance(value, list):
        return [text for item in value for text in _words(item)]
    return [value] if isinstance(value, str) else []


def _tool_names(body: Any) -> list[str]:
    return [_name(tool) for tool in body.get("tools") or ()]


def _name(tool: Any) -> str:
    """A tool's name in a request of Anthropic's or of OpenAI's."""
    return str(tool.get("name") or tool.get("function", {}).get("name"))
