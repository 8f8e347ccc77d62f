"""Which family a model is of: judges of one family share their faults and count as one opinion."""

from __future__ import annotations

import re

from memassay.judging.asking import PROVIDERS

# What a word of a name begins with, by family. A maker's models count as one family: they share data and habits.
_STEMS = {
    "claude": ("claude",),
    "gpt": ("gpt", "chatgpt", "davinci"),
    "gemini": ("gemini", "gemma"),
    "llama": ("llama", "codellama", "tinyllama"),
    "qwen": ("qwen", "qwq", "qvq"),
    "mistral": ("mistral", "mixtral", "ministral", "codestral", "magistral", "devstral", "pixtral"),
    "deepseek": ("deepseek",),
    "grok": ("grok",),
    "phi": ("phi",),
    "command": ("command", "aya"),
    "smollm": ("smollm",),
}
_REASONING = re.compile(r"o\d")  # o1, o3, o4: of the family gpt
_WORD = re.compile(r"[a-z]+\d*")


def family_of(model: str) -> str:
    """The family of a model in one lower-case word.

    The first word of the name that tells a family does: ``openai/qwen3-8b`` is ``qwen``, wherever it is served. A name
    that tells none gives its owner (``acme/one-7b`` is ``acme``), else its first word.
    """
    owner, _, last = model.lower().rstrip("/").rpartition("/")
    for word in _WORD.findall(last):
        if _REASONING.fullmatch(word):
            return "gpt"
        for family, stems in _STEMS.items():
            if word.startswith(stems):
                return family
    owners = [part for part in owner.split("/") if part and part not in PROVIDERS]
    word = _WORD.search(owners[-1] if owners else last)
    return word.group() if word else "model"
