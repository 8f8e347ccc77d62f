"""A lifecycle protocol: what is taught and what is asked, stage by stage, with the key of every answer.

The fields of a protocol are those of the published YAML files, in their order, which the canonical hash depends on
(see ``canonical``). What we add stands apart under ``extras``, so that the published hash never sees it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, StrictFloat, StrictInt, StrictStr, ValidationError
from pydantic_core import ErrorDetails

from memassay.core.errors import DataError, suggestion
from memassay.core.types import Frozen

Kind = Literal["numeric", "entity"]
Number = Annotated[StrictFloat, Field(allow_inf_nan=False)]
Texts = tuple[StrictStr, ...]

ENTITY_SINK = "datahub"
PAGE_SINK = "knowledge_page"
SINKS = (ENTITY_SINK, PAGE_SINK)


class Grading(Frozen):
    """The key of one question.

    Attributes:
        kind: ``numeric`` compares a number, ``entity`` looks for names.
        value: the number, where numeric.
        abs_tolerance: how far an answer may be from it, at least 0.
        aliases: names of the right answer, where entity.
        wrong_aliases: names whose mention makes an answer wrong, whatever else it says.
    """

    kind: StrictStr
    value: Number | None = None
    abs_tolerance: Number = 0.0
    aliases: Texts = ()
    wrong_aliases: Texts = ()


class Page(Frozen):
    """The knowledge page that a promotion writes; ``summary`` is None in the first published set, which had none."""

    slug: StrictStr = ""
    title: StrictStr = ""
    summary: StrictStr | None = None
    body: StrictStr = ""


class Prompt(Frozen):
    """An episode that is only told something."""

    prompt: StrictStr


class Question(Frozen):
    """An episode that ends in an answer, and its key."""

    prompt: StrictStr
    grading: Grading


class Update(Frozen):
    """A correction of the taught fact, and the question after it.

    Attributes:
        superseded_value: the number that was right before, where numeric.
    """

    prompt: StrictStr
    fact: StrictStr
    recall: Question
    superseded_value: Number | None = None


class Naive(Frozen):
    """What somebody would answer who was never taught: by which reading, and what it gives."""

    reading: StrictStr
    answer: Number | StrictStr


class Taught(Frozen):
    """Another fact, told between teaching and recall."""

    prompt: StrictStr
    fact: StrictStr
    entity_urn: StrictStr


class Extras(Frozen):
    """What we know about a protocol beyond the published fields; none of it is in the published hash.

    Attributes:
        template: the template that made it, a stratum of the statistics; "" where nobody knows.
        cluster: what was sampled independently; "" is the protocol itself.
        term: the invented word that the fact defines.
        query: SQL of the taught definition, which the fact states and the key was computed with.
        corrected_query: SQL of the corrected definition.
        entities: datasets on which filing the fact is as good as on ``entity_urn``.
        naive: answers of readings that do not know the fact; none is a right answer.
        stale: answers that were right before a correction, as an answer would name them.
        twin: a question of the same form as the abstain question that the warehouse does answer.
        never_taught: the question for an identity that was never taught and never promoted to.
        interference: other facts to teach before the question is asked once more.
        correction: a correction to give after the promotion (protocols with ``transfer``).
        forget: how the teacher is asked to forget.
    """

    template: StrictStr = ""
    cluster: StrictStr = ""
    term: StrictStr = ""
    query: StrictStr = ""
    corrected_query: StrictStr = ""
    entities: Texts = ()
    naive: tuple[Naive, ...] = ()
    stale: Texts = ()
    twin: Question | None = None
    never_taught: Question | None = None
    interference: tuple[Taught, ...] = ()
    correction: Update | None = None
    forget: Prompt | None = None


class Protocol(Frozen):
    """One lifecycle.

    Attributes:
        id: unique within a set.
        fact: what is taught; also what the entity sink writes as the dataset's description.
        entity_urn: the dataset that the fact is about, and that it is promoted to.
        sink: where a promotion writes: ``datahub`` (the dataset's description) or ``knowledge_page``.
        page: what the page sink writes.
        budget_tool_calls: the most tool calls of an episode, at least 1.
        transfer: asked of another identity after the promotion, which happens exactly where this is present.
        update: the correction; a protocol has ``transfer`` or ``update``, not both.
        abstain: a question about something that was never taught.
        extras: ours.
    """

    id: StrictStr
    title: StrictStr
    fact: StrictStr
    entity_urn: StrictStr
    sink: StrictStr
    page: Page | None = None
    budget_tool_calls: StrictInt
    teach: Prompt
    recall: Question
    transfer: Question | None = None
    update: Update | None = None
    abstain: Prompt | None = None
    extras: Extras | None = None

    @property
    def cluster(self) -> str:
        """What was sampled independently."""
        return (self.extras.cluster if self.extras else "") or self.id

    @property
    def template(self) -> str:
        """The template that made it, or ""."""
        return self.extras.template if self.extras else ""

    @property
    def entities(self) -> tuple[str, ...]:
        """Every dataset on which filing the fact counts, the intended one first."""
        return (self.entity_urn, *(self.extras.entities if self.extras else ()))


def protocol_of(data: object, where: str, *, original: bool = False) -> Protocol:
    """A protocol from plain values, checked.

    Args:
        data: what a YAML file holds.
        where: what an error names, such as the file.
        original: it may be of the first published set, whose pages have no summary.

    Raises:
        DataError: the values are no protocol; one sentence with the field.
    """
    if not isinstance(data, Mapping):
        raise DataError(f"{where} is no protocol: a protocol is a mapping that begins with its id.")
    try:
        protocol = Protocol.model_validate(data)
    except ValidationError as error:
        raise DataError(f"{where}: {_sentence(error.errors()[0])}") from None
    for problem in problems(protocol, original=original):
        raise DataError(f"{where}: {problem}")
    return protocol


def problems(protocol: Protocol, *, original: bool = False) -> Iterator[str]:
    """Every rule of the published validator, or of ours, that a protocol breaks: one sentence each, with the field.

    Args:
        protocol: the protocol.
        original: it may be of the first published set, whose pages have no summary.
    """
    for name in ("id", "title", "fact", "entity_urn"):
        if not getattr(protocol, name):
            yield f"{name} is empty; give it some text."
    for path, text in _texts("", protocol):
        if re.search("[\ud800-\udfff]", text):
            yield f"{path} holds half of a surrogate pair, which no text can; write the character itself."
    if protocol.budget_tool_calls <= 0:
        yield f"budget_tool_calls is {protocol.budget_tool_calls}; give at least 1."
    if protocol.sink not in SINKS:
        yield f"sink is {protocol.sink!r}; write {ENTITY_SINK} or {PAGE_SINK}."
    if protocol.sink == PAGE_SINK:
        for name in Page.model_fields:
            if not (getattr(protocol.page, name, "") or (original and name == "summary")):
                yield f"page.{name} is missing; the sink {PAGE_SINK} needs slug, title, summary and body."
    if not protocol.teach.prompt:
        yield "teach.prompt is empty; write what the teacher says."
    yield from _asked("recall", protocol.recall)
    if protocol.transfer is not None:
        yield from _asked("transfer", protocol.transfer)
    if protocol.update is not None:
        yield from _corrected("update", protocol.update)
    if protocol.transfer is not None and protocol.update is not None:
        yield "transfer and update exclude each other; keep one of them."
    if protocol.abstain is not None and not protocol.abstain.prompt:
        yield "abstain.prompt is empty; write the question, or leave abstain out."
    if protocol.extras is not None:
        yield from _added(protocol.extras, protocol)


def _asked(path: str, question: Question) -> Iterator[str]:
    if not question.prompt:
        yield f"{path}.prompt is empty; write the question."
    yield from _graded(f"{path}.grading", question.grading)


def _graded(path: str, grading: Grading) -> Iterator[str]:
    if grading.kind == "numeric":
        if grading.value is None:
            yield f"{path}.value is missing; a numeric answer needs the number."
        if grading.abs_tolerance < 0:
            yield f"{path}.abs_tolerance is {grading.abs_tolerance:g}; give 0 or more."
    elif grading.kind == "entity":
        if not any(grading.aliases):
            yield f"{path}.aliases is empty; an entity answer needs at least one name."
        for alias in grading.aliases:
            for wrong in grading.wrong_aliases:
                if wrong and wrong.lower() in alias.lower():
                    yield (
                        f"{path}.wrong_aliases has {wrong!r}, which stands in the alias {alias!r}: no right answer "
                        "could pass; take it out."
                    )
    elif grading.kind == "exec_sql":
        yield f"{path}.kind is exec_sql, which a lifecycle has no answer for; write numeric or entity."
    else:
        yield f"{path}.kind is {grading.kind!r}; write numeric or entity."


def _corrected(path: str, update: Update) -> Iterator[str]:
    for name in ("prompt", "fact"):
        if not getattr(update, name):
            yield f"{path}.{name} is empty; give it some text."
    yield from _asked(f"{path}.recall", update.recall)


def _added(extras: Extras, protocol: Protocol) -> Iterator[str]:
    for name, question in (("twin", extras.twin), ("never_taught", extras.never_taught)):
        if question is not None:
            yield from _asked(f"extras.{name}", question)
    for number, fact in enumerate(extras.interference):
        for name in Taught.model_fields:
            if not getattr(fact, name):
                yield f"extras.interference[{number}].{name} is empty; give it some text."
    if extras.correction is not None:
        yield from _corrected("extras.correction", extras.correction)
        if protocol.transfer is None:
            yield "extras.correction corrects a promoted fact, and without transfer none is promoted; use update."
    if extras.forget is not None and not extras.forget.prompt:
        yield "extras.forget.prompt is empty; write what the teacher says, or leave forget out."


def _texts(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Frozen):
        for name in type(value).model_fields:
            yield from _texts(f"{path}.{name}" if path else name, getattr(value, name))
    elif isinstance(value, tuple):
        for number, item in enumerate(value):
            yield from _texts(f"{path}[{number}]", item)


_EXPECTED: Mapping[str, str] = {
    "string_type": "must be text; put it in quotes",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "tuple_type": "must be a list",
    "model_type": "must be a mapping",
    "model_attributes_type": "must be a mapping",
}


def _sentence(error: ErrorDetails) -> str:
    path = _path(error["loc"])
    if error["type"] == "missing":
        return f"{path} is missing; add it."
    if error["type"] == "extra_forbidden":
        known = _known(error["loc"])
        return f"{path} is no field of a protocol.{suggestion(str(error['loc'][-1]), known)}"
    expected = _EXPECTED.get(error["type"])
    return f"{path} {expected}, not {_shown(error['input'])}." if expected else f"{path}: {error['msg']}."


def _path(location: tuple[int | str, ...]) -> str:
    path = ""
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        elif not part.startswith(("constrained-", "float", "str")):  # a branch of a union, no field
            path += f".{part}" if path else part
    return path or "the protocol"


def _known(location: tuple[int | str, ...]) -> list[str]:
    """The fields of the model that an unknown field stands in."""
    fields = Protocol.model_fields
    for part in location[:-1]:
        if isinstance(part, str) and part in fields:
            fields = _model(fields[part].annotation).model_fields
    return list(fields)


def _model(annotation: Any) -> type[Frozen]:
    for inner in (annotation, *getattr(annotation, "__args__", ())):
        if isinstance(inner, type) and issubclass(inner, Frozen):
            return inner
    return Protocol


def _shown(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "nothing"}[value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}\N{HORIZONTAL ELLIPSIS}"
