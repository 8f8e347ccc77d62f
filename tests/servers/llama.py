"""A stand-in for llama.cpp: words are tokens, and it says what it was told to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memassay.models.chat import Chat
from memassay.models.templates import Piece

SAYS = ["Oslo", "of", "course", "<end>", "never"]


class Engine:
    """Has the members of ``memassay.models.local._Engine``; its replies are ``SAYS``."""

    def __init__(self, file: Path, context: int, threads: int) -> None:
        self.words: list[str] = []

    def pieces(self, chat: Chat) -> list[Piece]:
        return [(chat.system, False), *((message.text, False) for message in chat.messages)]

    def tokens(self, pieces: list[Piece]) -> list[int]:
        return [0 for text, _ in pieces for _ in text.split()]

    def generate(self, tokens: list[int], schema: Mapping[str, Any] | None) -> Iterator[int]:
        yield from range(len(SAYS))

    def ends(self, token: int) -> bool:
        return SAYS[token] == "<end>"

    def text(self, tokens: list[int]) -> str:
        return " ".join(SAYS[token] for token in tokens)
