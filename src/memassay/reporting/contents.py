"""A page that leads to the reports of several runs: of each its title, what was found, and the link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from memassay.reporting.finding import Finding, finding, title
from memassay.reporting.html import _environment
from memassay.reporting.reading import Reading


@dataclass(frozen=True, slots=True)
class Entry:
    """One report: where it is, relative to the page, and what it says."""

    address: str
    title: str
    finding: Finding


def render(heading: str, lead: str, summaries: Mapping[str, Mapping[str, Any]]) -> str:
    """The page.

    Args:
        heading: its title.
        lead: the sentence below.
        summaries: the parsed ``summary.json`` of each run, in order, by the path of its report from where the page is.
    """
    readings = {path: Reading(summary) for path, summary in summaries.items()}
    entries = [Entry(quote(path), title(reading), finding(reading)) for path, reading in readings.items()]
    return _environment().get_template("contents.html.j2").render(heading=heading, lead=lead, entries=entries)
