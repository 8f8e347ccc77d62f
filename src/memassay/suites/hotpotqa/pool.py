"""The pages of the questions that are asked, as one corpus: with or without links from page to page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from memassay.core.digest import digest_of
from memassay.core.types import Corpus, Document, Unit
from memassay.suites.hotpotqa.letters import slug
from memassay.suites.hotpotqa.linking import Linked, Plain, link
from memassay.suites.hotpotqa.load import Question

SCOPE = "pool"

Links = Literal["none", "titles"]


def pool(questions: Sequence[Question]) -> list[Plain]:
    """The union of the questions' pages, each title as it stands first, in the byte order of the titles.

    In the order of the questions the two gold pages of one would stand within ten of each other, and a memory that
    looks at its neighbours would find them by that alone. Keys are slugs of the titles, given in that order; one that
    is taken gets ``-2``, ``-3``, ….
    """
    bodies: dict[str, str] = {}
    for question in questions:
        for page in question.context:
            if page.title not in bodies:
                bodies[page.title] = page.body
    pages: list[Plain] = []
    taken: set[str] = set()
    for title in sorted(bodies):
        key = _free(slug(title), taken)
        taken.add(key)
        pages.append(Plain(key, title, bodies[title]))
    return pages


def _free(key: str, taken: set[str]) -> str:
    name, number = key, 2
    while name in taken:
        name, number = f"{key}-{number}", number + 1
    return name


def corpus(pages: Sequence[Plain], links: Links) -> Corpus:
    """The pages as one corpus of the scope ``pool``, linked or not.

    A document is a Markdown page. Its one unit is the whole body without links, named by the page's key, so that both
    variants have the same units; its span is the place of the body, with its links, in the text. A page without a body
    has no unit.
    """
    shown = link(pages) if links == "titles" else [Linked(page.body, ()) for page in pages]
    documents = tuple(document(page, body) for page, body in zip(pages, shown, strict=True))
    content = {"id": SCOPE, "variant": links, "documents": [d.model_dump(mode="json") for d in documents]}
    return Corpus(id=SCOPE, variant=links, documents=documents, digest=digest_of(content))


def document(page: Plain, shown: Linked) -> Document:
    """A page as a document; ``shown`` is its body as the variant has it."""
    head = f"# {page.title}\n\n"
    units = (Unit(id=page.key, text=page.body, span=(len(head), len(head) + len(shown.body))),) if page.body else ()
    return Document(id=page.key, title=page.title, text=f"{head}{shown.body}\n", links=shown.targets, units=units)
