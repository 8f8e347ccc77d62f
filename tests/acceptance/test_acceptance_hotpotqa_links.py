"""The pool of ``run hotpotqa`` and its title links: rules written down anew, pitfalls, keys."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hotpotqa_kit import case, of_pages, page

from kit import Cli


def slug(title: str) -> str:
    kept = "".join(letter if letter.isalnum() else "-" for letter in title.lower())
    return re.sub("-+", "-", kept).strip("-") or "article"


def places(name: str, text: str) -> list[int]:
    """Where a name stands between characters that are no letters or digits."""
    found = []
    for match in re.finditer(f"(?={re.escape(name)})", text):
        start, end = match.start(), match.start() + len(name)
        if not (start and text[start - 1].isalnum()) and not text[end : end + 1].isalnum():
            found.append(start)
    return found


def linked(pages: dict[str, str]) -> dict[str, str]:
    """The rules of the study, written down as slowly as they read."""
    titles = sorted(pages, key=lambda t: t.encode())
    names = {title: title for title in titles}
    for title in titles:
        short = title.split(" (", 1)[0]
        if " (" in title and len(short.encode()) >= 2 and short not in names:
            seen = sum(1 for other, body in pages.items() if other != title and places(short, body))
            if seen <= 8:
                names[short] = title
    texts = {}
    for title, body in pages.items():
        found = [(at[0], at[0] + len(name), target) for name, target in names.items() if (at := places(name, body))]
        out, end = "", 0
        for start, stop, target in sorted(found, key=lambda f: (f[0], -f[1])):
            if start < end:
                continue
            shown = body[start:stop] if target == title else f"[{body[start:stop]}]({slug(target)}.md)"
            out, end = out + body[end:start] + shown, stop
        texts[slug(title)] = f"# {title}\n\n{out}{body[end:]}\n"
    return texts


def test_links_are_those_of_the_rules_on_random_pages(pool: Callable[..., Any]) -> None:
    draw = random.Random(7)
    words = ["Al", "Bor", "Cor", "Al Bor", "Dun-Al", "Cor's", "Eél", "9", "B", "Fen"]
    kinds = ["", "", " (film)", " (town)", " II", ", Fen"]
    titles: dict[str, str] = {}
    while len(titles) < 120:
        title = " ".join(draw.sample(words, draw.choice((1, 1, 2, 2, 3)))) + draw.choice(kinds)
        # The slugs of the test are for plain letters only, and must not clash.
        if slug(title) not in {slug(t) for t in titles}:
            titles[title] = ""
    joints = [" ", " ", " ", ", ", "-", "/", "", "'s ", "é ", " (", ") ", ". "]
    for title in titles:
        parts = draw.choices([*words, *titles, "and", "the"], k=draw.randint(6, 20))
        body = "".join(part + draw.choice(joints) for part in parts)
        titles[title] = re.sub(r"\s+", " ", body).strip() + " ."
    documents = pool(of_pages(*(page(title, body) for title, body in titles.items())))
    expected = linked(titles)
    assert {key: row[0] for key, row in documents.items()} == expected
    for key, row in documents.items():
        assert row[2] == [target.removesuffix(".md") for target in re.findall(r"\]\(([^)]*)\)", expected[key])]
    assert sum(len(row[2]) for row in documents.values()) > 100


def bodies(documents: dict[str, list[Any]]) -> dict[str, str]:
    return {key: row[0].split("\n\n", 1)[1].rstrip("\n") for key, row in documents.items()}


def test_the_pitfalls_of_linking(pool: Callable[..., Any]) -> None:
    given = [
        page("Alpha", "First of letters."),
        page("Alpha Corp", "A firm."),
        page("Swallowed", "Alpha Corp met Alpha."),
        page("Twice", "Alpha and Alpha."),
        page("Cased", "alpha, ALPHA and Alphabet, preAlpha, Alpha2, éAlpha, Alphaé, but Alpha's."),
        page("Mercury (planet)", "Mercury (planet) is near. Here Mercury is itself."),
        page("Mercury (element)", "Mercury is liquid."),
        page("Both", "Mercury (planet) or just Mercury."),
        page("X (letter)", "One byte is no name."),
        page("Letters", "X marks it, and Y."),
        page("Beta Gamma", "Gamma Beta Gamma Delta."),
        page("Gamma Delta", "Beta Gamma Delta."),
        page("Self First", "Alpha Self First Alpha."),
    ]
    found = bodies(pool(of_pages(*given)))
    assert found["swallowed"] == "[Alpha Corp](alpha-corp.md) met Alpha.", "a swallowed first place is tried again"
    assert found["twice"] == "[Alpha](alpha.md) and Alpha."
    assert found["cased"] == "alpha, ALPHA and Alphabet, preAlpha, Alpha2, éAlpha, Alphaé, but [Alpha](alpha.md)'s."
    assert found["mercury-planet"] == "Mercury (planet) is near. Here Mercury is itself.", "swallowed"
    assert found["both"] == "[Mercury (planet)](mercury-planet.md) or just Mercury."
    assert found["letters"] == "X marks it, and Y."
    assert found["gamma-delta"] == "[Beta Gamma](beta-gamma.md) Delta.", "what starts first wins"
    assert found["beta-gamma"] == "Gamma Beta Gamma Delta.", "an own name takes its place unlinked"
    assert found["self-first"] == "[Alpha](alpha.md) Self First Alpha."


def test_a_short_form_is_a_name_on_eight_other_pages_and_none_on_nine(pool: Callable[..., Any]) -> None:
    def world(others: int) -> list[list[Any]]:
        pages = [page(f"P{n}", f"Orion, number {n}, Orion again.") for n in range(others)]
        return [page("Orion (ship)", "Orion itself does not count."), page("Elsewhere", "Nothing."), *pages]

    eight, nine = (bodies(pool(of_pages(*world(others)), f"titles-{others}")) for others in (8, 9))
    assert all(eight[f"p{n}"] == f"[Orion](orion-ship.md), number {n}, Orion again." for n in range(8))
    assert all(nine[f"p{n}"] == f"Orion, number {n}, Orion again." for n in range(9))
    assert eight["orion-ship"] == nine["orion-ship"] == "Orion itself does not count."


def test_keys_are_slugs_and_collisions_count_up_in_byte_order(pool: Callable[..., Any]) -> None:
    titles = ["a b!", "A B", "A-B", "Ünïted 9", "...", "São_Paulo", "Œuvre (film)", "東京"]
    documents = pool(of_pages(*(page(t, f"Words of page {n}.") for n, t in enumerate(titles))), "none")
    keys = {row[3]: key for key, row in documents.items()}
    assert keys == {
        "A B": "a-b", "A-B": "a-b-2", "a b!": "a-b-3", "Ünïted 9": "ünïted-9", "...": "article",
        "São_Paulo": "são-paulo", "Œuvre (film)": "œuvre-film", "東京": "東京",
    }  # fmt: skip


def test_letters_are_those_of_unicode_and_not_of_python(pool: Callable[..., Any]) -> None:
    # A vowel sign is a part of a word (Alphabetic), a virama and a combining dot are not.
    titles = ["हिन्दी", "İzmir", "Ⓐ b"]
    documents = pool(of_pages(*(page(t, f"Words of page {n}.") for n, t in enumerate(titles))), "none")
    assert {row[3]: key for key, row in documents.items()} == {"हिन्दी": "हिन-दी", "İzmir": "i-zmir", "Ⓐ b": "ⓐ-b"}


def test_a_page_is_its_heading_and_its_sentences_and_the_first_of_a_title_stays(
    pool: Callable[..., Any], workplace: Path
) -> None:
    questions = [case(n) for n in range(4)]
    for n, question in enumerate(questions):
        question["context"].append(["Shared", [f" From  question\t{n}. ", "\u00a0Second\n sentence."]])
    documents = pool(questions, "none")
    assert len(documents) == 13
    order = [
        json.loads(line)["id"] for line in (workplace / "pool-none" / "tasks.jsonl").read_text("utf-8").splitlines()
    ]
    first = next(n for n, question in enumerate(questions) if question["_id"] == order[0])
    assert documents["shared"][0] == f"# Shared\n\nFrom question {first}. Second sentence.\n"
    assert documents["shared"][1] == [f"From question {first}. Second sentence."]
    assert documents["shared"][2] == []


def test_pages_that_are_linked_already_are_refused(cli: Cli, workplace: Path) -> None:
    questions = [case(n) for n in range(4)]
    questions[3]["context"][0][1].append("See [Case 2 Beta](case-2-beta.md).")
    Path("cases.json").write_text(json.dumps(questions), encoding="utf-8")
    ran = cli("run", "hotpotqa", "--data", "cases.json", "--memory", "files", "--links", "titles", "--out", "r")
    assert ran.code == 2
    assert "Case 3 Alpha" in ran.complaint
