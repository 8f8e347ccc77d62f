"""The checks: one function each, which returns where the memory is as it should be and raises :class:`Broken` if not.

Whatever else a memory raises in a check is a failure of that check too, with the check's own advice.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memassay.core.errors import MemoryFailure
from memassay.core.types import Passage
from memassay.running.conformance import samples
from memassay.running.conformance.bench import Bench, Ended, changes, contents, empty
from memassay.running.conformance.claims import Claims, found, short, shows

SMALL_BUDGET = 250
MOST_TIMES = 10
"""How many times the budget a memory may return: ours stop at about twice, and the harness cuts the rest."""
_CHARS_PER_TOKEN = 4
_THREADS = 8
_ROUNDS = 12
_NAMED = 3
_ROOM = 20_000
# With a model on two cores, ten megabytes take minutes; the limit is then what a run gives a build.
_BIG_TIMES = 10


class Broken(Exception):
    """A memory that is not as it should be.

    Args:
        seen: what was seen instead, as the rest of a sentence.
        fix: what to do about it, where the check's own advice does not fit.
    """

    def __init__(self, seen: str, fix: str | None = None) -> None:
        self.seen, self.fix = seen, fix
        super().__init__(seen)


@dataclass(frozen=True, slots=True)
class Check:
    """A check.

    Attributes:
        expected: what is expected, as a sentence without its end.
        fix: what usually mends a failure, as a sentence without its end.
        times: how many times as long as another check it may take.
    """

    name: str
    expected: str
    fix: str
    times: int
    run: Callable[[Bench], None]


CHECKS: list[Check] = []


def check(expected: str, fix: str, *, times: int = 1) -> Callable[[Callable[[Bench], None]], Callable[[Bench], None]]:
    """Register a function as the check of its own name."""

    def register(function: Callable[[Bench], None]) -> Callable[[Bench], None]:
        CHECKS.append(Check(function.__name__.replace("_", "-"), expected, fix, times, function))
        return function

    return register


@check(
    "settings are keyword arguments with a default, and an unknown one is refused",
    "name every setting in the constructor's signature, with a type and a plain default",
)
def settings(bench: Bench) -> None:
    """What cannot be named cannot be checked, and what JSON cannot say cannot stand in a manifest."""
    about = bench.worker().request("settings")
    if about["unnamed"]:
        raise Broken(f"the constructor takes {', '.join(about['unnamed'])}")
    if about["unsaid"]:
        raise Broken(f"the value of {_some(about['unsaid'])} cannot be written as JSON")
    if about["refused"] is None:
        raise Broken("an unknown setting was accepted")


@check(
    "every document is found when it is asked for",
    "index every document of the corpus, those without units by their text",
)
def documents(bench: Bench) -> None:
    """Each of 24 documents (with units, as a conversation, without units) answers a question that only it answers."""
    corpus = samples.corpus("notes")
    answers = bench.notes().ask_all(samples.note_questions())
    lost = [d for d, passages in zip(corpus.documents, answers, strict=True) if not found(d, passages)]
    if lost:
        kinds = {bool(document.units) for document in lost}
        only = f", all of them {'with' if True in kinds else 'without'} units" if len(kinds) == 1 else ""
        raise Broken(f"{len(lost)} of {len(corpus.documents)} were not{only}: {_some([d.id for d in lost])}")


@check(
    "a corpus of 400 documents is kept whole",
    "index every document, however many there are, and rank before you cut",
)
def many_documents(bench: Bench) -> None:
    """Every fourteenth of 400 short documents, and the last one, is found within a budget that holds all of them."""
    corpus = samples.corpus("many")
    asked = [*range(0, samples.MANY, 14), samples.MANY - 1]
    answers = bench.build("many").ask_all([samples.many_question(number) for number in asked], budget=_ROOM)
    lost = [
        number for number, passages in zip(asked, answers, strict=True) if not found(corpus.documents[number], passages)
    ]
    if lost:
        names = _some([corpus.documents[number].id for number in lost])
        raise Broken(f"{len(lost)} of {len(asked)} that were asked for were not found: {names}")


@check(
    "the documents, units, words and places that passages name are those of the corpus",
    "fill doc_ids, unit_ids and span from the documents given to build, and call nothing verbatim that is not",
)
def sources(bench: Bench) -> None:
    """``doc_ids`` and ``unit_ids`` exist, verbatim words stand in the source, spans count characters."""
    claims = Claims(samples.corpus("notes"))
    for passages in bench.notes().ask_all([*samples.note_questions(), *samples.shared_questions()]):
        for passage in passages:
            untrue = claims.unknown(passage) or claims.misquoted(passage)
            if untrue is not None:
                raise Broken(untrue)


@check(
    "what is returned is bounded by the budget and the limit",
    f"stop before {MOST_TIMES} times query.budget_tokens (the harness cuts exactly) and at query.limit passages",
)
def budget(bench: Bench) -> None:
    """Of 150 documents that all match, a small budget brings a small multiple and ``limit`` at most so many."""
    store = bench.build("ledger")
    longest = max(len(document.text) for document in samples.corpus("ledger").documents)
    passages = store.ask(samples.LEDGER_QUESTION, budget=SMALL_BUDGET)
    if not passages:
        raise Broken("nothing was found", "find documents by the words of the question")
    chars = sum(len(passage.text) for passage in passages)
    if chars > SMALL_BUDGET * _CHARS_PER_TOKEN * MOST_TIMES + longest:
        times = chars / (SMALL_BUDGET * _CHARS_PER_TOKEN)
        raise Broken(f"{chars:,} characters came back for a budget of {SMALL_BUDGET} tokens, {times:.0f} times as much")
    for limit in (1, 3):
        count = len(store.ask(samples.LEDGER_QUESTION, limit=limit))
        if count > limit:
            raise Broken(f"{count} passages came back with limit={limit}", "return at most query.limit passages")


@check(
    "the same documents and the same question give the same passages",
    "break ties by place, never by the order of a set, by hash() or by chance, and keep nothing from one question "
    "to the next",
)
def deterministic(bench: Bench) -> None:
    """The same in two processes with different hash seeds, asked twice, and asked in another order."""
    questions = [*samples.shared_questions(), *samples.note_questions()]
    store = bench.notes()
    first = store.ask_all(questions)
    backwards = store.ask_all(questions[::-1])[::-1]
    _same(questions, first, backwards, "asked again, in another order")
    with bench.another(seed=2) as worker:
        elsewhere = bench.build("notes", worker=worker).ask_all(questions)
    _same(questions, first, elsewhere, "in a second build, in a process with another PYTHONHASHSEED")


@check(
    "building changes nothing of the corpus, reading nothing of the store, and neither anything else",
    "write under place while building and nowhere while reading",
)
def read_only(bench: Bench) -> None:
    """Files of the store before and after questions; paths opened for writing outside of it, except for caches."""
    worker = bench.worker()
    worker.request("outside")  # what other checks have left is not counted here
    store = bench.build("notes")
    if store.changed:
        raise Broken("the corpus was changed by build()", "copy what you want to change")
    store.ask_all(samples.note_questions())
    store.close()
    changed = changes(store.built, contents(store.place))
    if changed:
        raise Broken(f"{_some(changed)} in the store changed while it was read", "write nothing after build()")
    outside = worker.request("outside")
    if outside:
        raise Broken(f"{_some(outside)} was written, outside the store", "keep everything under place")


@check(
    "every script is found by its own words and comes back unharmed",
    "keep text as Unicode throughout, compare words in one normal form, count in characters, drop no letters",
)
def unicode(bench: Bench) -> None:
    """Twelve lines: CJK, right to left, combining signs, emoji, beyond the basic plane, both normal forms."""
    corpus = samples.corpus("scripts")
    answers = bench.build("scripts").ask_all([samples.script_question(tried) for tried in samples.SCRIPTS])
    units = corpus.documents[0].units
    lost = [
        tried
        for tried, unit, passages in zip(samples.SCRIPTS, units, answers, strict=True)
        if not shows(passages, unit.text)
        and not any(unit.id in passage.unit_ids for passage in passages if passage.kind != "verbatim")
    ]
    if lost:
        raise Broken(f"{len(lost)} of {len(units)} did not come back: {_some(lost)}")
    claims = Claims(corpus)
    for wrong in (claims.misquoted(passage) for passages in answers for passage in passages):
        if wrong is not None:
            raise Broken(wrong)


@check("an empty corpus makes an empty store that answers with nothing", "handle a corpus without documents")
def empty_store(bench: Bench) -> None:
    """No document, no passage, no error."""
    for passages in bench.build("empty").ask_all(samples.shared_questions()):
        if passages:
            raise Broken(f"a passage came back: {short(passages[0].text)}")


@check(
    "documents with one base name stay apart",
    "key documents by their whole id; if a file name is made of it, add something that keeps it unique",
)
def same_names(bench: Bench) -> None:
    """``a/notes.md`` beside ``b/notes.md``, ``a_notes.md`` and ``A/Notes.md``: each is found with its own words."""
    corpus = samples.corpus("names")
    answers = bench.build("names").ask_all([f"Where is the {thing}?" for thing in samples.NAMES.values()])
    for document, thing, passages in zip(corpus.documents, samples.NAMES.values(), answers, strict=True):
        telling = [passage for passage in passages if shows([passage], thing)]
        if not any(document.id in passage.doc_ids or not passage.doc_ids for passage in telling):
            raise Broken(f"{document.id!r} was lost beside {_some([d.id for d in corpus.documents if d != document])}")


@check(
    "texts, ids and questions that no one expects do no harm",
    "treat text, ids and questions as data: no file name, no pattern, no query language, no encoding without a way out",
)
def hostile(bench: Bench) -> None:
    """NUL, Windows line ends, half a surrogate pair, markup, 20,000 letters without a blank, no text at all."""
    store = bench.build("hostile")
    wanted = [*samples.HOSTILE, samples.PERSIMMON]
    before = store.ask_all([f"Where is the {word}?" for word in wanted])
    lost = [word for word, passages in zip(wanted, before, strict=True) if not shows(passages, word)]
    if lost:
        raise Broken(f"{len(lost)} of {len(wanted)} texts did not come back; they hold {_some(lost)}")
    for question in samples.HOSTILE_QUESTIONS:
        try:
            store.ask(question)
        except Ended:
            raise
        except MemoryFailure as error:
            raise Broken(f"the question {short(question)} raised {error}") from error
    if not shows(store.ask("Where is the walnut table?"), "walnut"):
        raise Broken("the plain document beside them was not found")


@check(
    "eight threads that read together get what one gets alone",
    "keep nothing of a question in the store: what retrieve() needs stands in its own variables",
)
def concurrent_reads(bench: Bench) -> None:
    """Some 300 questions, eight at a time, against the same questions one after another."""
    questions = [*samples.note_questions(), *samples.shared_questions()]
    store = bench.notes()
    alone = store.ask_all(questions)
    together = store.ask_all(questions * _ROUNDS, threads=_THREADS)
    _same(questions * _ROUNDS, alone * _ROUNDS, together, f"asked by {_THREADS} threads together")


@check(
    "a folder whose name has blanks and letters outside ASCII is as good as any",
    "take the path as it is, as a pathlib.Path",
)
def odd_path(bench: Bench) -> None:
    """A store under ``memory of möbius/記憶 ☂``."""
    questions = samples.note_questions()[:3]
    store = bench.build("notes", bench.place("memory of möbius", "記憶 ☂"))
    _same(questions, bench.notes().ask_all(questions), store.ask_all(questions), "under such a folder")


@check(
    "a document of 10 MB is built and found like any other",
    "cut long texts in one pass, in time that grows with their length and not with its square",
    times=_BIG_TIMES,
)
def big_document(bench: Bench) -> None:
    """One text of ten million characters without units; a sentence in its middle is asked for."""
    store = bench.build("big")
    if not shows(store.ask(samples.BIG_QUESTION), samples.NEEDLE):
        raise Broken("the sentence in its middle was not found")


@check(
    "a store opens in a new process, and after a build or a reader was killed",
    "keep everything that retrieve() needs in files under place, and leave no lock that outlives its process",
)
def reopening(bench: Bench) -> None:
    """Opened in a second process, read by one that is killed, opened again; a build killed half-way and repeated."""
    questions = samples.note_questions()
    store = bench.notes()
    expected = store.ask_all(questions)
    store.close()
    with bench.another(seed=1) as worker:
        reader = store.elsewhere(worker)
        _same(questions, expected, reader.ask_all(questions), "after it was opened in a new process")
        reader.close()
        orderly = contents(store.place)
        reader.ask_all(questions)
        worker.send("ask", place=str(store.place), queries=[{"text": q, "budget_tokens": 100} for q in questions])
        worker.kill()
    changed = changes(orderly, contents(store.place))
    if changed and orderly == store.built:  # a store that any reading changes is the matter of another check
        raise Broken(
            f"{_some(changed)} in the store changed when a reader was killed",
            "open the store without writing, since a run refuses one that has changed",
        )
    with bench.another(seed=1) as worker:
        again = store.elsewhere(worker).ask_all(questions)
        _same(questions, expected, again, "after a reader was killed")
        place = bench.place()
        with contextlib.suppress(Ended):
            worker.request("build", name="notes", place=str(place), fatal=store.steps // 2 + 1)
        worker.kill()
    empty(place)
    again = bench.build("notes", place).ask_all(questions)
    _same(questions, expected, again, "after a build was killed half-way and repeated")


@check(
    "a store needs nothing but its folder",
    "keep everything that retrieve() needs under place; what stands anywhere else is gone tomorrow, or another's",
    times=2,
)
def self_contained(bench: Bench) -> None:
    """Built with a home folder and temporary files of its own, and opened again when both are empty."""
    questions = samples.note_questions()
    home = bench.place()
    with bench.another(seed=1, home=home) as worker:
        store = bench.build("notes", worker=worker)
    with bench.another(seed=1, home=home) as worker:
        reader = store.elsewhere(worker)
        try:
            expected = reader.ask_all(questions)
            reader.close()
        except MemoryFailure:
            return  # a store that opens nowhere else at all is the matter of another check
    empty(home)
    when = "after the home folder and the temporary files were emptied"
    with bench.another(seed=1, home=home) as worker:
        try:
            again = store.elsewhere(worker).ask_all(questions)
        except MemoryFailure as error:
            raise Broken(f"{error}, {when}") from error
    _same(questions, expected, again, when)


def _same(
    questions: Sequence[str], first: Sequence[Sequence[Passage]], second: Sequence[Sequence[Passage]], when: str
) -> None:
    """The same words from the same sources in the same order; scores and native ids may differ."""
    for question, one, other in zip(questions, first, second, strict=True):
        if len(one) != len(other):
            raise Broken(f"{short(question)} gave {len(one)} passages, and {len(other)} {when}")
        for place, (before, after) in enumerate(zip(one, other, strict=True), start=1):
            if _read(before) != _read(after):
                raise Broken(
                    f"passage {place} for {short(question)} was {short(before.text)}, and {when} {short(after.text)}"
                )


def _read(passage: Passage) -> tuple[object, ...]:
    return passage.text, passage.kind, passage.doc_ids, passage.unit_ids, passage.span


def _some(names: Sequence[str]) -> str:
    """The first few of some names."""
    rest = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(f"{short(name)}" for name in names[:_NAMED]) + rest
