from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memassay.core.errors import DataError
from memassay.suites.canary.hypertext import page_of
from memassay.suites.canary.ingest import Ingested, ingest

HTML = """<!doctype html><html><head><title>Limits &amp; rates</title><style>p { color: red }</style>
<script>var hidden = "<p>a secret</p>";</script></head><body>
<nav><a href="index.html">Home</a></nav>
<h1>Rate limits</h1>
<p>The limit is <b>250</b>
   requests, see <a href="adr/one two.html#why">the decision</a> and <a href="https://example.org/x">the web</a>.
<ul><li>One<li><p>Two</p></ul>
<table><tr><th>Name<th>Value</tr><tr><td>retries</td><td>3</td></tr></table>
<pre># a comment
  b = 2</pre>
<svg><text>drawn</text></svg><h2>Not closed<p>Below it</p><!-- gone --><img alt="a map">
</body></html>"""


def pdf(words: str, title: str = "A plan") -> bytes:
    """One page with one line, or with none."""
    stream = f"BT /F1 12 Tf 20 150 Td ({words}) Tj ET" if words else ""
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 4 0 R "
        "/Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Title ({title}) >>",
    ]
    out, places = "%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n"
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n" + "".join(f"{place:010} 00000 n \n" for place in places)
    out += f"trailer << /Size {len(objects) + 1} /Root 1 0 R /Info 6 0 R >>\nstartxref\n{start}\n%%EOF\n"
    return out.encode("ascii")


def texts(found: Ingested) -> dict[str, str]:
    return {document.id: document.text for document in found.documents}


# -- HTML ----------------------------------------------------------------------------------------------------------


def test_a_page_reads_as_a_person_sees_it() -> None:
    page = page_of(HTML)
    assert page.title == "Limits & rates"
    assert page.text.split("\n\n") == [
        "[Home](index.html)",
        "# Rate limits",
        "The limit is 250 requests, see [the decision](adr/one%20two.html) and the web.",
        "- One\n- Two",
        "Name | Value\nretries | 3",
        "```\n# a comment\n  b = 2\n```",
        "## Not closed",
        "Below it",
        "a map",
    ]


def test_a_page_without_a_title_is_called_by_its_first_heading() -> None:
    assert page_of("<h2>Second</h2><h1>First <i>one</i></h1>").title == "First one"
    assert page_of("plain words") == ("", "plain words")
    assert page_of("a<br>b<p>c").text == "a\nb\n\nc"
    assert page_of("<a href='x.html'></a><a href='//[bad'>words</a>").text == "words"
    assert page_of("<script>never closed <p>words").text == ""


@given(st.text(st.sampled_from("<>/abp=\"' !-&;#x\n"), max_size=60))
def test_no_page_breaks_the_reader(html: str) -> None:
    assert page_of(html).text == page_of(html).text.strip("\n")


def test_a_page_that_is_a_link_out_of_the_folder_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "outside.html").write_text(HTML, encoding="utf-8")
    (tmp_path / "notes" / "a.html").write_text("<p>One.</p>", encoding="utf-8")
    (tmp_path / "notes" / "b.html").symlink_to(Path("..") / "outside.html")
    found = ingest(tmp_path / "notes")
    assert texts(found) == {"a.html": "One."}
    assert found.skipped == {"b.html": "a link that leads out of the folder"}


def test_pages_are_documents_whatever_their_encoding(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(HTML, encoding="utf-8")
    (tmp_path / "2026-03-02-b.HTM").write_bytes(b'<meta charset="iso-8859-1"><p>caf\xe9</p>')
    (tmp_path / "c.html").write_bytes(b"<p>caf\xe9</p>")
    (tmp_path / "d.html").write_bytes(b"<meta charset='hex'><p>caf\xe9</p>")
    (tmp_path / "e.html").write_text("<script>x</script>", encoding="utf-8")
    found = ingest(tmp_path)
    assert [(d.id, d.title, d.date) for d in found.documents] == [
        ("2026-03-02-b.HTM", "2026 03 02 b", "2026-03-02"),
        ("a.html", "Limits & rates", None),
    ]
    assert texts(found)["2026-03-02-b.HTM"] == "caf\u00e9"
    assert found.skipped == {
        "c.html": "not UTF-8 text",
        "d.html": "not text in the encoding that it declares",
        "e.html": "a page without text",
    }


# -- PDF -----------------------------------------------------------------------------------------------------------


def test_without_the_extra_a_pdf_is_left_out_and_the_rest_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pypdf", None)
    (tmp_path / "a.pdf").write_bytes(pdf("The kettle is on the left."))
    (tmp_path / "b.md").write_text("# Tea\n", encoding="utf-8")
    found = ingest(tmp_path)
    assert list(texts(found)) == ["b.md"]
    assert found.skipped == {"a.pdf": "pypdf is not installed; run: pip install 'memassay[pdf]'"}


def test_a_real_pdf(tmp_path: Path) -> None:
    pytest.importorskip("pypdf")
    (tmp_path / "plan.pdf").write_bytes(pdf("The kettle is on the left."))
    (tmp_path / "scan.pdf").write_bytes(pdf(""))
    (tmp_path / "torn.pdf").write_bytes(pdf("x")[:200])
    found = ingest(tmp_path)
    (plan,) = found.documents
    assert (plan.id, plan.title, plan.text) == ("plan.pdf", "A plan", "The kettle is on the left.")
    assert found.skipped["scan.pdf"] == "a PDF without text (scanned pages?)"
    assert found.skipped["torn.pdf"].startswith("a PDF that cannot be read (")


class _Reader:
    """Stands for the library: what it is given says what it does."""

    def __init__(self, file: Any) -> None:
        self._said = file.read().decode()
        if self._said == "torn":
            raise KeyError("/Root")
        self.is_encrypted = self._said == "locked"
        self.metadata = types.SimpleNamespace(title=" A\n plan ") if self._said == "named" else None
        words = {"scan": ["", " "], "named": ["One.\n", "", "Two \ud800."]}.get(self._said, ["x"])
        self.pages = [types.SimpleNamespace(extract_text=lambda text=text: text) for text in words]

    def decrypt(self, password: str) -> int:
        return 0


def test_what_a_pdf_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library: Any = types.ModuleType("pypdf")
    library.PdfReader = _Reader
    monkeypatch.setitem(sys.modules, "pypdf", library)
    for name in ("torn", "locked", "named", "scan", "plain"):
        (tmp_path / f"{name}.pdf").write_text(name, encoding="utf-8")
    found = ingest(tmp_path)
    assert texts(found) == {"named.pdf": "One.\n\nTwo ?.", "plain.pdf": "x"}
    assert [document.title for document in found.documents] == ["A plan", "plain"]
    assert found.skipped == {
        "locked.pdf": "a PDF with a password",
        "scan.pdf": "a PDF without text (scanned pages?)",
        "torn.pdf": "a PDF that cannot be read (KeyError)",
    }


# -- JSON Lines ----------------------------------------------------------------------------------------------------


def lines(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_rows_of_a_folder_are_documents_of_their_own(tmp_path: Path) -> None:
    lines(tmp_path / "a.jsonl", {"text": "One.\n\nTwo."}, {"id": "b", "title": "B", "text": "x", "date": "2026-01-05"})
    lines(tmp_path / "log.jsonl", {"level": "info", "text": "started"})
    (tmp_path / "torn.jsonl").write_text('{"text": "One."}\n{"text": \n', encoding="utf-8")
    found = ingest(tmp_path)
    assert list(texts(found)) == ["a.jsonl/d1", "a.jsonl/b", "log.jsonl", "torn.jsonl"]
    assert [unit.id for unit in found.documents[0].units] == ["a.jsonl/d1#1", "a.jsonl/d1#2"]
    assert (found.documents[1].title, found.documents[1].date) == ("B", "2026-01-05")
    lines(tmp_path / "a.jsonl", {"id": "b", "text": "x"}, {"id": "b", "text": "y"})
    with pytest.raises(DataError, match=r'a.jsonl, line 2: the id "b" is that of line 1'):
        ingest(tmp_path)


def test_no_file_of_questions_is_a_document(tmp_path: Path) -> None:
    """They hold the gold, and an older copy of them does as well."""
    asked = lines(tmp_path / "questions.jsonl", {"query": "Where?", "answer": "left"})
    lines(tmp_path / "older.jsonl", {"query": "Where?"}, {"question": "When?", "evidence": ["x"]})
    (tmp_path / "tea.md").write_text("The kettle is on the left.", encoding="utf-8")
    found = ingest(tmp_path, leave_out=asked)
    assert list(texts(found)) == ["tea.md"]
    assert found.skipped == {"older.jsonl": "not documents but questions"}


def test_a_file_with_scopes_is_one_set_of_documents(tmp_path: Path) -> None:
    path = lines(tmp_path / "all.jsonl", {"id": "a", "text": "x", "scope": "one"}, {"id": "b", "text": "y"})
    assert list(texts(ingest(path))) == ["a", "b"]
    lines(path, {"id": "a", "text": "x", "scope": "one"}, {"id": "a", "text": "y", "scope": "two"})
    with pytest.raises(DataError, match=r'the id "a" is in the scopes one and two; .* give each document an id'):
        ingest(path)


# -- nothing -------------------------------------------------------------------------------------------------------


def test_an_empty_folder_and_one_of_binaries(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no text file is in this folder; put .md or .txt files there"):
        ingest(tmp_path)
    (tmp_path / "logo.png").write_bytes(b"\x89PNG\0\0")
    with pytest.raises(DataError, match=r'\(1 skipped: "logo.png" is not text\)'):
        ingest(tmp_path)
