"""A model file's own chat template, filled so that no text of a message can pass for one of the template's marks.

A template is code from the model file; it runs in the sandbox of the template engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

from memassay.core.errors import DataError

Piece = tuple[str, bool]

# Stands for the text of message n while the template is filled; no template and no person writes this.
_MARK = "\ue000{}\ue001"


def filled(template: str, messages: Sequence[Mapping[str, str]], bos: str, eos: str) -> list[Piece]:
    """A conversation as the model was trained to read it, up to where the reply begins.

    Args:
        template: Jinja, as in the model file.
        messages: each with ``role`` and ``content``; a system message only as the first.
        bos: the text of the token that begins a text.
        eos: the text of the token that ends one.

    Returns:
        Pieces in order, each with whether it is the template's own: only there do the marks of the model (turns, the
        end of a text) mean anything. The texts of messages must be encoded as plain text.

    Raises:
        DataError: the template cannot be filled.
    """
    from jinja2 import TemplateError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    def refuse(message: str) -> NoReturn:
        raise TemplateError(message)

    texts = [message["content"] for message in messages]
    marked = [{"role": message["role"], "content": _MARK.format(n)} for n, message in enumerate(messages)]
    engine = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    more = {"bos_token": bos, "eos_token": eos, "add_generation_prompt": True, "raise_exception": refuse}
    try:
        compiled = engine.from_string(template)
        try:
            text = compiled.render(messages=marked, **more)
        except TemplateError:
            # Some models know no system message; its words then begin the user's.
            if len(marked) < 2 or marked[0]["role"] != "system":
                raise
            joined = {"role": marked[1]["role"], "content": f"{marked[0]['content']}\n\n{marked[1]['content']}"}
            text = compiled.render(messages=[joined, *marked[2:]], **more)
    except Exception as error:
        raise DataError(f"The chat template of the model file cannot be filled: {error}.") from error
    return _split(text, texts)


def _split(text: str, texts: Sequence[str]) -> list[Piece]:
    pieces: list[Piece] = []
    for number, content in enumerate(texts):
        before, found, text = text.partition(_MARK.format(number))
        if not found:
            raise DataError("The chat template of the model file leaves out a message.")
        pieces += [(before, True), (content, False)]
    return [piece for piece in [*pieces, (text, True)] if piece[0]]
