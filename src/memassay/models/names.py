"""From a model's name to a model."""

from __future__ import annotations

import importlib
from typing import Any

from memassay.core.errors import UsageError
from memassay.core.registry import bind_options
from memassay.models.chat import ChatModel

# The keyword that takes what follows the first slash of a name, and the class, in the module of the same name.
_CLASSES = {
    "anthropic": ("model", "AnthropicModel"),
    "openai": ("model", "OpenAIModel"),
    "local": ("path", "LocalModel"),
    "scripted": ("path", "ScriptedModel"),
}


def open_model(name: str, **options: Any) -> ChatModel:
    """The model of a name; nothing is asked, loaded or imported yet.

    ======================================  ==========================================================
    ``anthropic/ID``, ``claude-…``          :class:`memassay.models.anthropic.AnthropicModel`
    ``openai/ID``, any other name           :class:`memassay.models.openai.OpenAIModel`
    ``local``, ``local/FILE.gguf``          :class:`memassay.models.local.LocalModel`
    ``scripted/FILE.json``                  :class:`memassay.models.scripted.ScriptedModel`
    ======================================  ==========================================================

    Args:
        name: as above; what follows the first slash of ``openai/`` may hold slashes of its own.
        options: the keyword arguments of the class; those that are None count as not given.

    Raises:
        UsageError: no name, or an option that the class does not have.
        DataError: a file that is not there.
    """
    provider, _, rest = name.partition("/")
    if not provider or (not rest and "/" in name):
        raise UsageError(f"{name!r} is no model; write anthropic/ID, openai/ID, local, local/FILE or scripted/FILE.")
    if not rest and provider != "local":
        provider, rest = ("anthropic" if name.startswith("claude-") else "openai"), name
    if provider not in _CLASSES:  # a name with a slash, as servers of open models have them
        provider, rest = "openai", name
    keyword, of_class = _CLASSES[provider]
    # Imported when it is asked for: a judge must not load what it does not use.
    factory = getattr(importlib.import_module(f"memassay.models.{provider}"), of_class)
    given: dict[str, Any] = {keyword: rest} if rest else {}
    given |= {option: value for option, value in options.items() if value is not None}
    model: ChatModel = factory(**bind_options(factory, given, f"model {name!r}"))
    return model
