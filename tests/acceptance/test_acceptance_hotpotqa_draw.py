"""The frozen draw of ``run hotpotqa``: golden vectors, the order of a file, another draw."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hotpotqa_kit import RunCases

from kit import Cli


def xorshift(seed: int) -> Callable[[], int]:
    state = max(seed, 1)

    def step() -> int:
        nonlocal state
        state ^= (state << 13) & 0xFFFFFFFFFFFFFFFF
        state ^= state >> 7
        state ^= (state << 17) & 0xFFFFFFFFFFFFFFFF
        return state

    return step


def shuffled(length: int) -> list[int]:
    draw, order = xorshift(20260718), list(range(length))
    for i in range(length - 1, 0, -1):
        j = draw() % (i + 1)
        order[i], order[j] = order[j], order[i]
    return order


GOLDEN = [668, 4597, 6982, 6501, 7313, 4376, 2889, 1496, 6179, 3923, 5945, 5208]


def many(length: int) -> list[dict[str, Any]]:
    """Questions with short pages, in an order of the file that means nothing."""
    questions = []
    for n in range(length):
        first, second = f"A {n}", f"B {n}"
        pages = [[first, [f"a of {n}."]], [second, [f"b of {n}."]]]
        questions.append(
            {"_id": f"{n:05d}", "question": f"q {n}?", "answer": "a", "type": "bridge", "level": "easy",
             "supporting_facts": [[first, 0], [second, 0]], "context": pages}
        )  # fmt: skip
    random.Random(1).shuffle(questions)
    return questions


ONE = ("--memory", "files", "--limit", "2", "--budgets", "100", "--tokens", "chars4", "--no-controls")


def test_the_draw_meets_the_golden_vectors(cli: Cli, workplace: Path) -> None:
    step = xorshift(20260718)
    states = [21903372308403872, 13766295405186996237, 2922764435912687101, 14473269969664463430]
    assert [step() for _ in range(4)] == states, "the test's own port"
    assert shuffled(10) == [1, 3, 7, 8, 6, 9, 4, 5, 0, 2], "the test's own port"
    Path("full.json").write_text(json.dumps(many(7405)), encoding="utf-8")
    ran = cli("run", "hotpotqa", "--data", "full.json", *ONE, "--out", "r", "--json")
    assert ran.code == 0, ran.err
    draw = json.loads((workplace / "data" / "full.draw.json").read_text("utf-8"))
    assert [int(i) for i in draw["dev"][:12]] == GOLDEN
    order = [f"{n:05d}" for n in shuffled(7405)[:350]]
    assert draw["dev"] == order[:50]
    assert draw["test"] == order[50:]
    assert ran.json["suite_settings"]["pool"]["pages"] == 700, "the pool is the pages of all 350 questions"
    assert {name: block["n"] for name, block in ran.json["arms"]["files"]["splits"].items()} == {"dev": 2}


def test_the_order_of_the_file_and_its_form_play_no_part_and_ids_sort_by_their_bytes(cli: Cli, workplace: Path) -> None:
    questions = many(400)
    for question in questions:  # "Z" < "_" < "a" < "é" in bytes; a locale or casefold would say otherwise
        n = int(question["_id"])
        question["_id"] = f"{'aZé_'[n % 4]}{n:03d}"
    Path("one.json").write_text(json.dumps(questions), encoding="utf-8")
    again = random.Random(2).sample(questions, len(questions))
    Path("two.jsonl").write_text("\n".join(json.dumps(q, ensure_ascii=False) for q in again) + "\n", encoding="utf-8")
    for name in ("one.json", "two.jsonl"):
        assert cli("run", "hotpotqa", "--data", name, *ONE, "--out", name[:3]).code == 0
    one, two = (json.loads((workplace / "data" / f"{name}.draw.json").read_text("utf-8")) for name in ("one", "two"))
    ids = sorted((q["_id"] for q in questions), key=lambda i: i.encode())
    expected = [ids[n] for n in shuffled(400)[:350]]
    assert one["dev"] + one["test"] == two["dev"] + two["test"] == expected
    manifests = [
        json.loads((workplace / run / "manifest.json").read_text("utf-8"))["identity"] for run in ("one", "two")
    ]
    assert manifests[0]["corpora"] == manifests[1]["corpora"], "the pool depends on the order of the file"
    assert manifests[0]["tasks"] == manifests[1]["tasks"]


def test_another_draw_is_refused_and_force_draws_anew(cli: Cli, workplace: Path) -> None:
    def run(*more: str, out: str) -> Any:
        return cli("run", "hotpotqa", "--data", "pool.json", *ONE, "--out", out, *more)

    Path("pool.json").write_text(json.dumps(many(400)), encoding="utf-8")
    assert run(out="a").code == 0
    frozen = workplace / "data" / "pool.draw.json"
    before = frozen.read_bytes()
    assert run(out="a2").code == 0, "the same draw again is no other draw"
    Path("pool.json").write_text(json.dumps(many(420)), encoding="utf-8")
    refused = run(out="b")
    assert refused.code == 2
    assert "--force" in refused.complaint
    assert "pool.draw.json" in refused.complaint
    assert frozen.read_bytes() == before
    assert not (workplace / "b").exists(), "a refused run leaves nothing"
    assert run("--force", out="b").code == 0
    assert frozen.read_bytes() != before
    assert run(out="c").code == 0, "what force drew is frozen now"


def test_a_small_file_gives_all_to_dev_unless_told_otherwise(
    cli: Cli, run_cases: RunCases, chosen: str, workplace: Path
) -> None:
    summary = run_cases(many(349), "--memory", f"m={chosen}", "--no-controls", "--budgets", "100")
    assert {k: v["n"] for k, v in summary["arms"]["m"]["splits"].items()} == {"dev": 349}
    assert not list(workplace.rglob("*.draw.json")), "nothing is chosen, so there is nothing to freeze"
    Path("e.toml").write_text(
        'suite = "hotpotqa"\ntokens = "chars4"\nbudgets = [100]\ncontrols = false\n'
        '[options]\ndata = "cases.json"\ndev = 5\ntest = 20\n[memories.files]\nuse = "files"\n',
        encoding="utf-8",
    )
    ran = cli("run", "e.toml", "--out", "told", "--json")
    assert ran.code == 0, ran.err
    assert {k: v["n"] for k, v in ran.json["arms"]["files"]["splits"].items()} == {"dev": 5, "test": 20}
    expected = [f"{n:05d}" for n in shuffled(349)[:25]]
    tasks = [json.loads(line) for line in (workplace / "told" / "tasks.jsonl").read_text("utf-8").splitlines()]
    assert [task["id"] for task in tasks] == expected
    assert [task["split"] for task in tasks] == ["dev"] * 5 + ["test"] * 20
    assert ran.json["suite_settings"]["pool"]["pages"] == 50
