from __future__ import annotations

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from memassay.core.contracts import Cell
from memassay.core.dossier import dossier_of, rendering
from memassay.core.tokens import tokenizer
from memassay.core.types import Answer, CellKey, Dossier, Evidence, Gold, Passage, Status, Task
from memassay.core.wording import normalise
from memassay.judging.evidence import EvidenceJudge, words_of_links

BUDGETS = (5, 10, 20, 40)
KS = (1, 2, 3)


def judge(key: str = "original", tokens: str = "chars4", budgets: tuple[int, ...] = BUDGETS) -> EvidenceJudge:
    return EvidenceJudge(key=key, tokens=tokens, budgets=budgets, ks=KS)


def dossier(*texts: str) -> Dossier:
    return dossier_of(Passage(text=text) for text in texts)


def gold(*texts: str) -> list[Evidence]:
    return [Evidence(id=f"D1:{n}", text=text) for n, text in enumerate(texts, start=1)]


def scores(shown: Dossier, *texts: str, **more: object) -> dict[str, float | None]:
    return judge(**more).scores(shown, gold(*texts))  # type: ignore[arg-type]


def cell(shown: Dossier | None, **keys: Gold) -> Cell:
    task = Task(
        id="q", suite="s", scope="c", cluster="c", category="x", prompt="?",
        gold={name.replace("_", "-"): value for name, value in keys.items()},
    )  # fmt: skip
    return Cell(task=task, answer=Answer(cell=CellKey(task="q", arm="a"), attempt=2, status=Status.OK), dossier=shown)


# -- principle 6 ---------------------------------------------------------------------------------------------------


def test_a_memory_that_cites_everything_and_shows_nothing_scores_zero() -> None:
    everything = tuple(f"D1:{n}" for n in range(1, 50))
    shown = dossier_of([Passage(text="I know all of it.", unit_ids=everything, doc_ids=("c/1",), kind="summary")])
    found = judge().scores(shown, gold("I went to Oslo", "we saw a glacier"))
    for name, value in found.items():
        if name.partition("@")[0] in ("all", "any", "rec"):
            assert value == 0.0, name
    assert found["cited@40"] == 1.0


def test_a_citation_beyond_the_cut_is_not_even_cited() -> None:
    shown = dossier_of([Passage(text="x" * 100), Passage(text="y", unit_ids=("D1:1",))])
    found = judge().scores(shown, gold("nowhere"))
    assert [found[f"cited@{b}"] for b in BUDGETS] == [0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("want", "text", "stands"),
    [
        ("art", "modern art, I think", True),
        ("art", "the start of it", False),
        ("art", "artful", False),
        ("art", "smart art", True),
        ("I went to Oslo.", "Ada:  i WENT\nto  oslo.", True),
        ("cafe\u0301", "the CAFÉ", True),
        ("Oslo!", "Oslo!!", True),
        ("Oslo", "Oslo", True),
        ("12", "123", False),
        ("12", "on 12 May", True),
        ("a b", "a, b", False),
    ],
)
def test_words_are_whole_words(want: str, text: str, stands: bool) -> None:
    assert scores(dossier(text), want)["all@40"] == float(stands)
    assert scores(dossier(text), want)["all@k1"] == float(stands)


def test_gold_does_not_stand_across_two_passages() -> None:
    assert scores(dossier("I went", "to Oslo"), "I went to Oslo")["any@40"] == 0.0


def test_the_number_in_front_of_a_passage_is_no_evidence() -> None:
    for want in ("1", "[1]", "2", "[2] words"):
        found = scores(dossier("words", "words"), want)
        assert {name: v for name, v in found.items() if not name.startswith("cited")} == {
            name: 0.0 for name in found if not name.startswith("cited")
        }, want


def test_the_number_is_no_evidence_in_a_passage_that_the_cut_falls_into_either() -> None:
    shown = dossier("w" * 10, "a longer passage, which the smallest budget cuts somewhere in here, and on it goes")
    for budget in range(1, 25):
        found = scores(shown, "2", budgets=(budget,))
        assert found[f"all@{budget}"] == 0.0, budget


def test_text_beyond_the_cut_does_not_count() -> None:
    shown = dossier("x" * 30, "I went to Oslo")  # "[1] xxx…\n" has 35 characters, "[2] I went to Oslo\n" ends at 54
    found = scores(shown, "I went to Oslo", budgets=(8, 9, 13, 14))
    assert [found[f"all@{b}"] for b in (8, 9, 13, 14)] == [0.0, 0.0, 0.0, 1.0]


def test_the_last_passage_counts_as_soon_as_the_gold_is_wholly_there() -> None:
    shown = dossier("I went to Oslo and then there were many more words about it")
    # "[1] I went to Oslo" has 18 characters: 5 tokens of 4.
    found = scores(shown, "I went to Oslo", budgets=(4, 5))
    assert (found["all@4"], found["all@5"]) == (0.0, 1.0)


def test_a_word_that_the_cut_makes_is_no_evidence() -> None:
    """Three tokens of "[1] xxx start" end in "star": that must not be found there, and lost at four."""
    found = scores(dossier("xxx start was good"), "star", budgets=(2, 3, 4, 5))
    assert [found[f"all@{b}"] for b in (2, 3, 4, 5)] == [0.0] * 4


def test_passages_count_for_k_whatever_their_length() -> None:
    found = scores(dossier("x" * 5000, "I went to Oslo"), "I went to Oslo")
    assert (found["all@k1"], found["all@k2"], found["all@40"]) == (0.0, 1.0, 0.0)


def test_any_all_and_share() -> None:
    found = scores(dossier("one two"), "one", "three", "two", "four")
    assert (found["any@40"], found["all@40"], found["rec@40"]) == (1.0, 0.0, 0.5)


def test_a_gold_without_words_is_never_found() -> None:
    assert scores(dossier("one"), " \u00a0")["any@40"] == 0.0


# -- which tasks are graded ----------------------------------------------------------------------------------------

ONE = Gold(evidence=(Evidence(id="D1:1", text="one"),))


def test_no_evidence_no_verdict() -> None:
    assert judge().judge(cell(dossier("one"), original=Gold(answer="a"))) is None
    assert judge().judge(cell(dossier("one"))) is None
    assert judge().judge(cell(dossier("one"), original=ONE.model_copy(update={"excluded": "why"}))) is None


def test_no_dossier_is_graded_as_an_empty_one() -> None:
    for shown in (None, Dossier(status="empty")):
        verdict = judge().judge(cell(shown, original=ONE))
        assert verdict is not None
        assert set(verdict.scores.values()) == {0.0}
        assert verdict.labels["tokens"] == 0


def test_a_verdict_names_what_it_is_about() -> None:
    verdict = judge().judge(cell(dossier("one"), original=ONE))
    assert verdict is not None
    assert (verdict.judge, verdict.subjects, verdict.attempt) == ("evidence", (CellKey(task="q", arm="a"),), 2)
    assert verdict.labels["passages"] == 1
    assert verdict.labels["tokens"] == 2


def test_another_key_is_another_judge() -> None:
    other = judge("audit-corrected")
    assert other.id != judge().id
    two = Gold(evidence=(Evidence(id="D1:2", text="two"),))
    shown = cell(dossier("two"), original=ONE, audit_corrected=two)
    first, second = judge().judge(shown), other.judge(shown)
    assert first is not None
    assert second is not None
    assert (first.scores["all@40"], second.scores["all@40"]) == (0.0, 1.0)
    assert first.id != second.id


@pytest.mark.parametrize("field", ["key", "tokens", "budgets", "ks"])
def test_what_changes_a_score_is_in_the_judges_manifest(field: str) -> None:
    base = {"key": "original", "tokens": "chars4", "budgets": (1,), "ks": (1,)}
    other = {"key": "x", "tokens": "o200k_base", "budgets": (2,), "ks": (2,)}
    one, two = EvidenceJudge(**base), EvidenceJudge(**{**base, field: other[field]})  # type: ignore[arg-type]
    assert one.config != two.config


# -- against a second implementation -------------------------------------------------------------------------------

WORDS = st.sampled_from(
    [
        "art",
        "start",
        "oslo",
        "Oslo!",
        "went",
        "to",
        "é",
        "E\u0301",
        "straße",
        "STRASSE",
        "12",
        "123",
        "🙂",
        "中文",
        "—",
        "a",
    ]
)
SENTENCE = st.lists(WORDS, min_size=1, max_size=8).map(" ".join)
SHOWN = st.lists(SENTENCE, max_size=6)


def whole_words(want: str, text: str) -> bool:
    """Whether ``want`` stands in ``text`` with no letter or digit stuck to a letter or digit of its ends."""
    for at in range(len(text) - len(want) + 1):
        if text[at : at + len(want)] != want:
            continue
        left = at > 0 and text[at - 1].isalnum() and want[0].isalnum()
        right = at + len(want) < len(text) and text[at + len(want)].isalnum() and want[-1].isalnum()
        if not left and not right:
            return True
    return False


def brute_force(texts: list[str], wants: list[str], tokens: str, budget: int) -> list[bool]:
    """Cut the whole string, take the numbers off, search."""
    counter = tokenizer(tokens)
    blocks = [f"[{n}] {t.strip()}\n" for n, t in enumerate((t for t in texts if t.strip()), start=1)]
    cut = counter.cut("".join(blocks), budget * counter.marks_per_token)
    shown: list[str] = []
    at = 0
    for n, block in enumerate(blocks, start=1):
        piece = cut[at : at + len(block)]
        at += len(block)
        label = f"[{n}] "
        shown.append(piece[len(label) :] if piece.startswith(label) else "")
    return [
        bool(normalise(want)) and any(whole_words(normalise(want), normalise(piece)) for piece in shown)
        for want in wants
    ]


@pytest.mark.parametrize("tokens", ["chars4", "o200k_base"])
@settings(max_examples=250)
@given(texts=SHOWN, wants=st.lists(SENTENCE, min_size=1, max_size=3), budget=st.integers(1, 30))
def test_scores_are_those_of_a_brute_force_search(tokens: str, texts: list[str], wants: list[str], budget: int) -> None:
    shown = dossier(*texts)
    # A cut inside a word may make another word; that it then does not count has its own test.
    counter = tokenizer(tokens)
    whole = "".join(rendering(shown, tokens).blocks)
    cut = counter.cut(whole, budget * counter.marks_per_token)
    assume(len(cut) == len(whole) or not (cut[-1:].isalnum() and whole[len(cut)].isalnum()))
    found = scores(shown, *wants, tokens=tokens, budgets=(budget,))
    hits = brute_force(texts, wants, tokens, budget)
    assert found[f"all@{budget}"] == float(all(hits))
    assert found[f"any@{budget}"] == float(any(hits))
    assert found[f"rec@{budget}"] == pytest.approx(sum(hits) / len(hits))


@settings(max_examples=250)
@given(texts=SHOWN, wants=st.lists(SENTENCE, min_size=1, max_size=3))
@example(texts=["a a", "12 12 12 12 12"], wants=["12"])
@example(texts=["xxx start x"], wants=["star"])
def test_more_budget_never_finds_less(texts: list[str], wants: list[str]) -> None:
    budgets = tuple(range(1, 40))
    found = scores(dossier(*texts), *wants, budgets=budgets)
    for family in ("all", "any", "rec", "cited"):
        row = [found[f"{family}@{b}"] for b in budgets]
        assert row == sorted(row), family
    for family in ("all", "any", "rec"):
        assert found[f"{family}@k1"] <= found[f"{family}@k2"] <= found[f"{family}@k3"]  # type: ignore[operator]


@settings(max_examples=150)
@given(texts=SHOWN, wants=st.lists(SENTENCE, min_size=1, max_size=3))
def test_all_is_at_most_share_is_at_most_any(texts: list[str], wants: list[str]) -> None:
    found = scores(dossier(*texts), *wants)
    for at in [*map(str, BUDGETS), *(f"k{k}" for k in KS)]:
        low, mid, high = (found[f"{family}@{at}"] for family in ("all", "rec", "any"))
        assert low is not None
        assert mid is not None
        assert high is not None
        assert 0 <= low <= mid <= high <= 1


# -- links, documents and a second name ----------------------------------------------------------------------------


def reader(**more: object) -> EvidenceJudge:
    return EvidenceJudge(key="original", tokens="chars4", budgets=BUDGETS, ks=KS, **more)  # type: ignore[arg-type]


def test_the_plain_judge_is_what_it_was() -> None:
    assert dict(judge().config) == {
        "judge": "evidence", "version": 2, "key": "original", "tokens": "chars4",
        "budgets": list(BUDGETS), "ks": list(KS),
    }  # fmt: skip
    assert scores(dossier("seen from [Oslo](oslo.md)."), "seen from Oslo.")["all@40"] == 0.0
    more = reader(alias="both", count="documents", links=True).config
    assert dict(more) == dict(judge().config) | {"alias": "both", "count": "documents", "links": "words"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("seen from [Oslo](oslo.md).", "seen from Oslo."),
        ("[Sarn (river)](sarn-river.md) and [é](é-2.md)", "Sarn (river) and é"),
        ("[[a] b](x.md)[c](y.md)", "[a] bc"),
        ("[[Oslo](oslo.md)]", "[Oslo]"),
        ("Jeopardy![Oslo](oslo.md)", "Jeopardy!Oslo"),
        ("[open [a](b.md)", "[open a"),
        ("[a](two words) [a] (b) [a]", "[a](two words) [a] (b) [a]"),
        ("[](x.md)", ""),
    ],
)
def test_a_link_is_read_as_its_words(text: str, words: str) -> None:
    assert words_of_links(text) == words


def test_brackets_without_end_are_read_in_time() -> None:
    for hostile in ("[" * 50_000, "[a]" * 20_000 + "](", "[" + "[]" * 30_000 + "](", "](" * 30_000):
        assert words_of_links(hostile) == hostile


def test_gold_is_found_behind_links_and_a_link_in_gold_is_read_alike() -> None:
    shown = dossier("A mill in [Brankton](brankton.md), on the [Cole](cole-river.md).")
    found = reader(links=True).scores(shown, gold("A mill in Brankton, on the Cole.", "[Cole](x)."))
    assert found["all@40"] == found["all@k1"] == 1.0


def test_tokens_are_those_of_the_links_too() -> None:
    """ "[1] " and 16 more characters are the first 5 tokens: the words of the link, not where it leads."""
    shown = dossier("in [Brankton](brankton.md), a town")
    for want, counts in (("in Brankton", 1.0), ("in Brankton, a town", 0.0)):
        assert reader(links=True).scores(shown, gold(want))["all@5"] == counts
    assert reader(links=True).scores(shown, gold("in Brankton, a town"))["all@10"] == 1.0


@settings(max_examples=200)
@given(
    st.lists(st.sampled_from(["Oslo", " ", "[Oslo](oslo.md)", "é[", "](", "a.", "[b [c]](d.md)"]), max_size=9),
    st.data(),
)
def test_a_cut_never_shows_more_words_than_the_whole(parts: list[str], data: st.DataObject) -> None:
    text = "".join(parts)
    cut = data.draw(st.integers(0, len(text)))
    assert words_of_links(text).startswith(words_of_links(text, cut))
    assert len(words_of_links(text, cut)) <= cut
    assert words_of_links(text, len(text)) == words_of_links(text)


@given(
    st.lists(st.text(alphabet="ab [](.", max_size=20), max_size=5), st.text(alphabet="ab [](.", min_size=1, max_size=6)
)
def test_without_links_both_readings_agree(texts: list[str], want: str) -> None:
    assume(normalise(want))
    shown = dossier_of(Passage(text=text) for text in texts)
    assert reader(links=True).scores(shown, gold(want)) == reader().scores(shown, gold(want))


def test_a_second_name_is_the_same_number() -> None:
    found = reader(alias="both").scores(dossier("one", "two"), gold("one", "two"))
    for name, value in found.items():
        if name.startswith("all@"):
            assert found[name.replace("all", "both")] == value
    assert sum(name.startswith("both@") for name in found) == len(BUDGETS) + len(KS)


def test_cut_offs_can_count_distinct_documents() -> None:
    shown = dossier_of(
        [
            Passage(text="a one", doc_ids=("a",)),
            Passage(text="a two", doc_ids=("a",)),
            Passage(text="b one", doc_ids=("b",)),
            Passage(text="a three", doc_ids=("a",)),
            Passage(text="nameless"),
        ]
    )

    def at(want: str, k: int, **more: object) -> float | None:
        return reader(**more).scores(shown, gold(want))[f"all@k{k}"]

    assert [at("a two", k, count="documents") for k in KS] == [1.0, 1.0, 1.0]
    assert [at("b one", k, count="documents") for k in KS] == [0.0, 1.0, 1.0]
    assert [at("a three", k, count="documents") for k in KS] == [0.0, 1.0, 1.0]
    assert [at("nameless", k, count="documents") for k in KS] == [0.0, 0.0, 1.0]
    assert [at("a three", k) for k in KS] == [0.0, 0.0, 0.0]
    many = dossier_of([Passage(text="everything", doc_ids=("a", "b", "c", "d")), Passage(text="more")])
    assert [reader(count="documents").scores(many, gold("everything"))[f"all@k{k}"] for k in KS] == [0.0, 0.0, 0.0]
