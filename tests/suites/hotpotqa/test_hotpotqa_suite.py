from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hotpotqa_files import record

from kit import Cli
from memassay.core.contracts import Grading
from memassay.core.errors import DataError, UnknownName, UsageError
from memassay.core.registry import bind_options, suites
from memassay.core.types import Task
from memassay.running.experiment import KS, experiment_of
from memassay.suites.hotpotqa.facts import facts
from memassay.suites.hotpotqa.load import load
from memassay.suites.hotpotqa.suite import HotpotQA

Write = Callable[..., Path]
GRADING = Grading(tokens="chars4", budgets=(1000, 2000), ks=(2, 10))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder of the tests."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / "data"


def test_it_is_registered_and_its_rules_are_known() -> None:
    from memassay.stats import DESIGNS

    assert suites.get("hotpotqa") is HotpotQA
    assert HotpotQA.design in DESIGNS


def test_real_or_generated(write: Write) -> None:
    assert HotpotQA(sample=True).data == "generated"
    assert HotpotQA(data=str(write([record()]))).data == "real"
    with pytest.raises(UsageError, match="either a data file or the sample"):
        HotpotQA(data="x.json", sample=True)


def test_nothing_is_read_before_it_is_needed(tmp_path: Path) -> None:
    suite = HotpotQA(data=str(tmp_path / "none.json"))
    assert suite.metrics(GRADING) and suite.judges(GRADING)
    with pytest.raises(DataError, match=r"none\.json: no such file"):
        suite.tasks()


def test_without_the_file_a_slice_that_is_there_is_named(tmp_path: Path, folder: Path) -> None:
    missing = r"hotpot_dev_distractor_v1\.json is in none of data, .*get it with: memassay data fetch hotpotqa"
    with pytest.raises(DataError, match=rf"{missing}\.$"):
        HotpotQA().tasks()
    folder.mkdir()
    for name in ("hotpot_distractor_200.jsonl", "hotpot_dev_289.jsonl"):
        (folder / name).write_text(json.dumps(record()) + "\n", encoding="utf-8")
        with pytest.raises(DataError, match=rf"{missing}, or .* that is here with: --data data/{name}\.$"):
            HotpotQA().tasks()
    with pytest.raises(DataError, match=r"none\.json: no such file[^-]*$"):
        HotpotQA(data=str(tmp_path / "none.json")).tasks()


@pytest.mark.parametrize("links", ["all", "", "Titles"])
def test_an_unknown_variant_is_refused(links: str) -> None:
    with pytest.raises(UsageError, match="links"):
        bind_options(HotpotQA, {"links": links}, "suite 'hotpotqa'")


def test_the_identity_says_what_could_change_a_number(write: Write) -> None:
    path = write([record("a"), record("b", [["Nowhere", 0], ["Dunes", 0]]), record("a")])
    mine = dict(HotpotQA(data=str(path)).identity())
    assert mine["data"]["catalogue"] is False  # type: ignore[index, call-overload]
    assert mine["pool"] == {"pages": 5, "links": 0}
    assert (mine["links"], mine["repeated_ids"], mine["unresolved_questions"]) == ("none", 1, 1)
    linked = dict(HotpotQA(data=str(path), links="titles").identity())
    assert linked["pool"] == {"pages": 5, "links": 4}
    assert {key for key in mine if mine[key] != linked[key]} == {"links", "pool"}
    other = HotpotQA(data=str(path), dev=1, test=1).identity()
    assert other["draw"] != mine["draw"]
    assert HotpotQA(data=str(path.rename(path.with_name("moved.json"))), force=True).identity() == mine
    assert HotpotQA(sample=True).identity()["sample"] != HotpotQA(sample=True, seed=1).identity()["sample"]


def test_the_corpus_is_that_of_the_questions_that_are_asked(write: Write, many: list[dict[str, Any]]) -> None:
    for number, item in enumerate(many):
        item["context"] = [[f"Page {number}", ["Words."]], ["Brankton", ["A town."]]]
    suite = HotpotQA(data=str(write(many)))
    tasks, (corpus,) = suite.tasks(), suite.corpora()
    assert Counter(task.split for task in tasks) == {"dev": 50, "test": 300}
    assert [task.split for task in tasks] == ["dev"] * 50 + ["test"] * 300
    assert len(corpus.documents) == 351
    assert {task.scope for task in tasks} == {corpus.id} == {"pool"}


def accepted(path: Path, *, force: bool = False) -> list[Task]:
    suite = HotpotQA(data=str(path), force=force)
    tasks = list(suite.tasks())
    suite.accepted()
    return tasks


def test_a_draw_is_frozen_and_another_is_refused(write: Write, many: list[dict[str, Any]], folder: Path) -> None:
    path = write(many)
    assert HotpotQA(data=str(path)).tasks() and not (folder / "mine.draw.json").exists(), "nobody has run it yet"
    first = accepted(path)
    assert json.loads((folder / "mine.draw.json").read_text(encoding="utf-8"))["dev"] == [t.id for t in first[:50]]
    assert accepted(path) == first
    write(many[5:])
    with pytest.raises(DataError, match=r"mine\.draw\.json holds another draw: .*--force"):
        HotpotQA(data=str(path)).tasks()
    again = accepted(path, force=True)
    assert accepted(path) == again != first


def test_a_forced_draw_that_its_run_folder_refuses_replaces_nothing(
    cli: Cli, write: Write, many: list[dict[str, Any]], workplace: Path
) -> None:
    base = ["run", "hotpotqa", "--data", str(write(many)), "--memory", "files", "--tokens", "chars4",
            "--no-controls", "--budgets", "100", "--limit", "2"]  # fmt: skip
    assert cli(*base, "--out", "runs/one").code == 0
    frozen = workplace / "data" / "mine.draw.json"
    before = frozen.read_bytes()
    write(many[5:])
    refused = cli(*base, "--force", "--out", "runs/one")
    assert refused.code == 2 and "holds a different run" in refused.complaint
    assert frozen.read_bytes() == before
    assert cli(*base, "--force", "--out", "runs/two").code == 0
    assert frozen.read_bytes() != before


def test_a_small_file_freezes_nothing(write: Write, folder: Path) -> None:
    assert [task.split for task in accepted(write([record("a"), record("b")]))] == ["dev", "dev"]
    assert not folder.exists()


def test_graders_and_metrics() -> None:
    suite = HotpotQA(sample=True)
    pages, sentences = suite.judges(GRADING)
    assert (pages.id, sentences.id) == ("evidence", "evidence-facts")
    more = {"alias": "both", "count": "documents", "links": "words"}
    for judge in (pages, sentences):
        assert more.items() <= judge.config.items()
    metrics = suite.metrics(GRADING)
    assert [m.name for m in metrics] == [
        "both@1000", "both@2000", "any@1000", "any@2000", "rec@1000", "rec@2000",
        "both@k2", "both@k10", "any@k2", "any@k10", "rec@k2", "rec@k10",
    ]  # fmt: skip
    assert [m.budget for m in metrics] == [1000, 2000] * 3 + [None] * 6
    assert all(m.title for m in metrics)


def test_the_suite_declares_its_own_cut_offs() -> None:
    assert experiment_of({"suite": "hotpotqa"}).ks == (2, 5, 10, 20)
    assert experiment_of({"suite": "hotpotqa", "ks": [3]}).ks == (3,)
    assert experiment_of({"suite": "locomo"}).ks == KS
    assert experiment_of({"suite": "unheard-of"}).ks == KS


def test_types_are_categories() -> None:
    assert HotpotQA(sample=True).category_name(" Bridge ") == "bridge"
    with pytest.raises(UnknownName, match="comparison"):
        HotpotQA(sample=True).category_name("comparisons")


def test_sensitivities_name_what_is_left_out(write: Write) -> None:
    inside = record("b", [["Heaps", 0]], context=[["Heaps", ["Sand."]], ["More", ["All is Sand. Yes."]]])
    suite = HotpotQA(data=str(write([record("a", [["Nowhere", 0], ["Brankton", 0]]), inside, record("c")])))
    elsewhere, lost = suite.sensitivities().values()
    assert (elsewhere, lost) == ({"b"}, {"a"})


def test_the_report_gets_the_types_and_the_pool(cli: Cli) -> None:
    flags = ["--sample", "--links", "titles", "--memory", "lexical", "--limit", "30", "--budgets", "250,1000"]
    ran = cli("run", "hotpotqa", *flags, "--out", "r", "--json")
    assert ran.code == 0, ran.err
    (section,) = HotpotQA().sections(ran.json)
    assert "127 pages" in section.text and "175 title links" in section.text
    (table,) = section.tables
    assert [row[:2] for row in table.rows] == [("bridge", "lexical"), ("comparison", "lexical")]
    assert [c.title for c in table.columns] == [
        "type",
        "arm",
        "n",
        "250",
        "1,000",
        "k = 2",
        "k = 5",
        "k = 10",
        "k = 20",
    ]
    assert sum(int(row[2]) for row in table.rows) == 30  # type: ignore[arg-type]
    assert table.rows[0][4] == ran_estimate(ran.json, "both@1000")
    html = Path("r/report.html").read_text(encoding="utf-8")
    assert "Both pages, by type of question" in html and "both@B against budget" in html
    assert HotpotQA().sections({}) == ()


def ran_estimate(summary: Any, metric: str) -> Any:
    from memassay.core.types import Estimate

    return Estimate.model_validate(summary["arms"]["lexical"]["categories"]["bridge"][metric])


def test_both_variants_are_graded_alike(cli: Cli, tmp_path: Path) -> None:
    """A memory that shows the pages as they stand, links and all, finds in both variants what it shows."""
    memory = tmp_path / "shows.py"
    memory.write_text(
        "import json\n"
        "from pathlib import Path\n"
        "from memassay.core.types import Passage\n"
        "class Shows:\n"
        "    '''Shows every page that a page of the question names, whatever it costs.'''\n"
        "    def build(self, corpus, place, context):\n"
        "        rows = [[d.id, d.title, d.text] for d in corpus.documents]\n"
        "        (Path(place) / 'rows.json').write_text(json.dumps(rows))\n"
        "    def open(self, ref):\n"
        "        self.rows = json.loads((Path(ref.location) / 'rows.json').read_text())\n"
        "        return self\n"
        "    def retrieve(self, query):\n"
        "        asked = query.text.lower()\n"
        "        first = [r for r in self.rows if r[1].split(' (')[0].lower() in asked]\n"
        "        rest = [r for r in self.rows if r not in first]\n"
        "        return [Passage(text=text, doc_ids=(key,)) for key, _, text in first + rest]\n",
        encoding="utf-8",
    )
    base = ["--sample", "--memory", f"{memory}:Shows", "--no-controls", "--limit", "60", "--budgets", "400,20000"]
    found = {}
    for links in ("none", "titles"):
        ran = cli("run", "hotpotqa", *base, "--links", links, "--out", f"runs/{links}", "--json")
        assert ran.code == 0, ran.err
        found[links] = {m: e["value"] for m, e in ran.json["arms"]["Shows"]["metrics"].items()}
    assert found["none"]["both@20000"] == found["titles"]["both@20000"] == 1.0
    for metric in ("both@k2", "both@k5", "both@k10", "rec@k20"):
        assert found["none"][metric] == found["titles"][metric]
    assert 0 < found["titles"]["both@400"] <= found["none"]["both@400"], "links cost tokens"


def test_the_flags_belong_to_this_suite(cli: Cli, write: Write) -> None:
    for flags, says in ((["--links", "titles"], "links"), (["--force"], "force")):
        ran = cli("plan", "locomo", "--sample", "--memory", "files", *flags)
        assert ran.code == 2 and f"has no setting '{says}'" in ran.complaint
    ran = cli("plan", "hotpotqa", "--sample", "--memory", "files", "--links", "some")
    assert ran.code == 2 and "links" in ran.complaint


def test_verify_counts(write: Write) -> None:
    path = write([record("a"), record("b", [["Nowhere", 0], ["Dunes", 7]], kind="comparison"), record("a")])
    found = {name: fact.count for name, fact in HotpotQA.verify("hotpotqa", path).items()}
    assert found == {
        "questions": 2, "bridge": 1, "comparison": 1, "dev": 2, "test": 0, "clusters": 2, "pages": 5, "title_links": 4,
        "linked_pages": 3, "two_gold_pages": 1, "repeated": 1, "without_gold": 0, "lost_titles": 1, "lost_sentences": 1,
        "elsewhere": 0, "other_words": 0, "empty": 0,
    }  # fmt: skip
    assert HotpotQA.verify("hotpotqa", path)["repeated"].names == ("a",)


def _real(name: str) -> Path:
    import os

    from kit import ROOT

    for place in ([Path(os.environ["MEMASSAY_DATA"])] if "MEMASSAY_DATA" in os.environ else []) + [
        ROOT.parent / "shared" / "data"
    ]:
        if (place / name).is_file():
            return place / name
    pytest.skip(f"{name} is in neither $MEMASSAY_DATA nor ../shared/data")


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("hotpot_distractor_200.jsonl", {"questions": 200, "bridge": 151, "pages": 1969, "two_gold_pages": 200}),
        (
            "hotpot_dev_289.jsonl",
            {"questions": 289, "bridge": 203, "pages": 2846, "two_gold_pages": 289, "elsewhere": 1},
        ),
    ],
)
def test_the_development_files(name: str, counts: dict[str, int]) -> None:
    path = _real(name)
    found = {key: fact.count for key, fact in facts(load(path)).items()}
    assert counts.items() <= found.items()
    assert [found[key] for key in ("repeated", "without_gold", "lost_titles", "lost_sentences", "empty")] == [0] * 5
    suite = HotpotQA(data=str(path), links="titles")
    assert suite.identity()["data"]["catalogue"] is True  # type: ignore[index, call-overload]
    texts = {u.id: u.text for d in suite.corpora()[0].documents for u in d.units}
    for task in suite.tasks():
        assert all(texts[e.id] == e.text for e in task.gold["original"].evidence)


def test_the_order_of_the_pool_says_nothing_about_the_gold() -> None:
    suite = HotpotQA(sample=True)
    (corpus,) = suite.corpora()
    titles = [document.title for document in corpus.documents]
    assert titles == sorted(titles)
    place = {document.id: at for at, document in enumerate(corpus.documents)}
    pairs = [[place[e.id] for e in task.gold["original"].evidence] for task in suite.tasks()]
    gaps = sorted(abs(a - b) for a, b in (pair for pair in pairs if len(pair) == 2))
    assert gaps[len(gaps) // 2] > len(titles) / 10  # by chance about 0.3 of the pages
