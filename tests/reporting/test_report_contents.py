"""The page that leads to several reports."""

from __future__ import annotations

from pages import Page
from summaries import summary

from memassay.reporting import contents


def test_every_report_is_linked_with_its_title_and_finding() -> None:
    page = Page(
        contents.render("Two runs", "A <b>lead</b>.", {"a/report.html": summary(3), "ü b/r#1.html": summary(2)})
    )
    assert page.unbalanced == []
    links = [attributes["href"] for tag, attributes in page.elements if tag == "a"]
    assert links == ["a/report.html", "%C3%BC%20b/r%231.html"]
    texts = ["".join(page.texts.get(n, [])).strip() for n in range(len(page.elements))]
    assert "A <b>lead</b>." in texts
    assert sum(text.startswith("alpha") or " on " in text for text in texts) >= 2
    assert not any(tag in ("script", "b") for tag, _ in page.elements)


def test_what_a_run_says_of_itself_is_text() -> None:
    hostile = summary(1)
    hostile["suite"] = "<script>alert(1)</script>"
    page = Page(contents.render("One run", "", {"report.html": hostile}))
    assert not any(tag == "script" for tag, _ in page.elements)
