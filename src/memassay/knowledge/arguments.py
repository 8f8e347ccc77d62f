"""What a caller may say to each tool: names, types and defaults, as JSON schemas and as checked values.

Counts and limits are whole numbers from 0 on, and 0 has no limit; depths are 0 to 255, and 0 follows to the end. A
value of the wrong type, or a name that a tool does not know, is one sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memassay.core.errors import UsageError, suggestion
from memassay.knowledge.grains import Grain

# What agents take in one reply: the usual client cuts, or diverts to a file, at 25,000 tokens of its own counting.
BUDGET = 20_000
SEARCH_BUDGET = 2_000
MOST_PASSAGES = 100

Count = Annotated[int, Field(ge=0, le=1_000_000_000)]
Depth = Annotated[int, Field(ge=0, le=255)]
_RELATIONS = ("includes", "includedBy", "references", "referencedBy")

_DEPTH: dict[str, Any] = {"type": "integer", "minimum": 0, "maximum": 255}
_NEAR: dict[str, Any] = {
    "anyOf": [
        {"type": "string"},
        {
            "type": "object",
            "properties": {"key": {"type": "string"}, "depth": _DEPTH},
            "required": ["key"],
            "additionalProperties": False,
        },
    ]
}


def _below(name: str, says: str) -> Any:
    return Field(default=[], alias=name, description=says, json_schema_extra={"items": _NEAR})


def _within(what: str) -> Any:
    """A budget that a tool has only where the caller names it."""
    return Field(default=0, description=f"The most tokens of {what}.")


class Arguments(BaseModel):
    """Base of the arguments of every tool.

    Attributes:
        edits: the tool is there to edit pages.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    edits: ClassVar[bool] = False

    @property
    def writes(self) -> bool:
        """Whether this call edits pages."""
        return self.edits

    @classmethod
    def read(cls, tool: str, given: Mapping[str, Any]) -> Self:
        """The arguments of a call.

        Raises:
            UsageError: one is missing, unknown or of the wrong type.
        """
        try:
            return cls.model_validate(dict(given))
        except ValidationError as error:
            raise UsageError(_sentence(tool, error, list(cls.schema_of()["properties"]))) from None

    @classmethod
    def schema_of(cls) -> dict[str, Any]:
        """The arguments as a JSON schema without references."""
        schema = _plain(cls.model_json_schema())
        return {"type": "object", "properties": {}, **schema, "additionalProperties": False}


class Selecting(Arguments):
    """Arguments of a tool that can be kept to some pages."""

    filter: Any = Field(
        default=None, description='A filter as in query, in YAML or as an object, such as {"status": "draft"}.'
    )
    inside: list[Any] = _below("in", "Only pages that every one of these includes, directly or through others.")
    in_any: list[Any] = _below("in_any", "Only pages that one of these includes.")
    not_in: list[Any] = _below("not_in", "No pages that one of these includes.")
    max_depth: Depth = Field(default=0, description="Levels of inclusion that in, in_any and not_in follow.")


class Find(Selecting):
    """Arguments of ``find``."""

    lexical: str | None = Field(default=None, description="Words to look for in titles and texts; best match first.")
    fuzzy: str | None = Field(default=None, description="Letters that key and title must hold in this order.")
    refs_to: str | None = Field(default=None, description="Only pages that link to this key.")
    refs_from: str | None = Field(default=None, description="Only pages that this key links to.")
    limit: Count = Field(default=0, description="The most pages.")
    max_tokens: Count = Field(default=BUDGET, description="The most tokens of the result.")
    max_document_tokens: Count = Field(default=0, description="The most tokens of one page's content.")
    project: Any = Field(
        default=None, description="The fields to show: a list of names, or an object from names to sources."
    )
    add_fields: Any = Field(default=None, description="Fields beside the usual ones; not with project.")
    sort: Any = Field(default=None, description='A field with 1 or -1, such as {"date": -1}.')


class Retrieve(Selecting):
    """Arguments of ``retrieve``."""

    keys: list[str] = Field(default=[], description="Pages to read.")
    search: str | None = Field(default=None, description="Words to look for; the pages that match best are read.")
    fuzzy: str | None = Field(default=None, description="Letters that key and title must hold in this order.")
    expand: dict[str, Depth] = Field(
        default={},
        description="Relations to follow from every page, and how deep (1: direct, 0: to the end).",
        json_schema_extra={"properties": {name: _DEPTH for name in _RELATIONS}, "additionalProperties": False},
    )
    backlinks: bool = Field(default=True, description="List the pages that refer to each page.")
    children: bool = Field(default=False, description="List the pages that each page includes.")
    exclude: list[str] = Field(default=[], description="Keys not to hand out.")
    limit: Count = Field(default=0, description="The most pages to start from.")
    max_documents: Count = Field(default=0, description="The most pages altogether.")
    max_tokens: Count = Field(default=BUDGET, description="The most tokens of the result.")
    max_document_tokens: Count = Field(default=0, description="The most tokens of one page's content.")
    order: Literal["interleaved", "seeds-first"] = Field(
        default="interleaved", description="Whether what a page brings in comes right after it, or after all pages."
    )
    overflow: Literal["stop", "skip"] = Field(
        default="stop", description="What happens at the first page that does not fit into max_tokens."
    )


class Search(Arguments):
    """Arguments of ``search``."""

    text: str = Field(description="The question, in words.")
    grain: Grain = Field(default="passage", description="What is shown for a passage that answers.")
    limit: Count = Field(default=MOST_PASSAGES, description="The most passages.")
    max_tokens: Count = Field(default=SEARCH_BUDGET, description="The most tokens of the result.")


class Tree(Selecting):
    """Arguments of ``tree``."""

    keys: list[str] = Field(default=[], description="Where to begin; without it, at the pages that no page includes.")
    depth: Depth = Field(default=4, description="Levels below the first.")
    project: Any = Field(default=None, description="Fields of every page in place of key and title, as in find.")
    max_tokens: Count = _within("the tree")


class Stats(Selecting):
    """Arguments of ``stats``."""

    key: str | None = Field(default=None, description="One page; without it, all of them.")
    similar: bool = Field(default=False, description="Over all pages, also list those that say nearly the same (slow).")
    threshold: float = Field(default=0.85, ge=0, le=1, description="From which likeness on pages are nearly the same.")
    max_tokens: Count = _within("the figures")


class Squash(Arguments):
    """Arguments of ``squash``."""

    key: str = Field(description="The page.")
    depth: Depth = Field(default=2, description="Levels of inclusion that are written out.")
    max_tokens: Count = _within("the text")


class Query(Arguments):
    """Arguments of ``query``."""

    operation: Literal["find", "count", "update", "delete"] = Field(description="What to do.")
    document: str = Field(description="The query, in YAML or JSON.")
    dry_run: bool = Field(default=False, description="Say what would change and change nothing.")
    max_tokens: Count = Field(default=BUDGET, description="The most tokens of what is found, or told of changes.")
    strict: bool = Field(default=True, description="Edits must say with expect how much they may change.")

    @property
    def writes(self) -> bool:
        return self.operation in ("update", "delete") and not self.dry_run


class Create(Arguments):
    """Arguments of ``create``."""

    edits = True

    key: str = Field(description="The new page's key, such as people/ada.")
    content: str = Field(description="The whole page, written as it is.")
    if_exists: Literal["fail", "skip"] = Field(default="fail", description="What to do if there is such a page.")


class Update(Arguments):
    """Arguments of ``update``."""

    edits = True

    key: str = Field(description="The page.")
    content: str = Field(description="The whole new page, front matter included, written as it is.")


class Delete(Arguments):
    """Arguments of ``delete``."""

    edits = True

    key: str = Field(description="The page.")
    dry_run: bool = Field(default=False, description="Say what would change and change nothing.")
    max_tokens: Count = _within("what is told of changes")

    @property
    def writes(self) -> bool:
        return not self.dry_run


class Rename(Arguments):
    """Arguments of ``rename``."""

    edits = True

    old_key: str = Field(description="The page.")
    new_key: str = Field(description="Its new key; links to it are rewritten everywhere.")
    dry_run: bool = Field(default=False, description="Say what would change and change nothing.")
    max_tokens: Count = _within("what is told of changes")

    @property
    def writes(self) -> bool:
        return not self.dry_run


def _sentence(tool: str, error: ValidationError, known: list[str]) -> str:
    first = error.errors(include_url=False, include_context=False)[0]
    name = _short(".".join(str(part) for part in first["loc"])) or "the call"
    if first["type"] == "extra_forbidden":
        hint = f".{suggestion(name, known)}" if known else ": it takes none."
        return f"{tool} has no parameter {name!r}{hint}"
    if first["type"] == "missing":
        return f"{tool} needs the parameter {name!r}."
    return f"{tool}: {name} is {_short(repr(first['input']))}, but {first['msg'][0].lower()}{first['msg'][1:]}."


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def _plain(schema: Any) -> Any:
    """A schema without the names that pydantic adds."""
    if isinstance(schema, list):
        return [_plain(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {name: _plain(part) for name, part in schema.items() if name != "title" or isinstance(part, dict)}
