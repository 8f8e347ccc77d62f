"""What the suite adds to a report: how far the user's questions reach, from the summary alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memassay.core.report import Section

FEW_QUESTIONS = 60
ENOUGH_QUESTIONS = 120
FEW_CLUSTERS = 6

_TITLE = "How far your questions reach"
_NOTHING = (
    "No question names evidence, so nothing could be scored: add the sentences that hold the answer to the questions "
    'where you can, as "evidence": ["a sentence copied from a document"].'
)


def sections(summary: Mapping[str, Any]) -> Sequence[Section]:
    """One section of a few sentences; none where no arm could be measured."""
    arms = [_mapping(arm) for arm in _mapping(summary.get("arms")).values()]
    headline = str(summary.get("headline_metric"))
    estimates = [_mapping(_mapping(arm.get("metrics")).get(headline)) for arm in arms if arm.get("reason") is None]
    if not estimates:
        return ()
    questions = max(_count(estimate, "n") for estimate in estimates)
    clusters = max(_count(estimate, "clusters") for estimate in estimates)
    if not questions:
        return (Section(title=_TITLE, text=_NOTHING),)
    sentences = [
        f"{questions} questions name the passages that hold their answer, and come from {clusters} independent "
        f"source{'' if clusters == 1 else 's'}. Questions without evidence were asked too, and are in no recall."
    ]
    if questions < FEW_QUESTIONS:
        sentences.append(f"With fewer than {FEW_QUESTIONS} of them only large differences can be told from chance.")
    elif questions < ENOUGH_QUESTIONS:
        sentences.append(f"About {ENOUGH_QUESTIONS} of them are needed before a difference of ordinary size shows.")
    if clusters < FEW_CLUSTERS:
        sentences.append(
            f"Questions about one document stand and fall together, and with fewer than {FEW_CLUSTERS} sources no "
            "comparison can be decided: ask about more documents rather than more about the same."
        )
    settings = _mapping(_mapping(summary.get("suite_settings")).get("documents"))
    skipped = settings.get("skipped")
    if isinstance(skipped, int) and skipped > 0:
        names = ", ".join(str(name) for name in settings.get("skipped_names") or ())
        sentences.append(f"{skipped} files of the folder were left out because they are not text: {names}.")
    return (Section(title=_TITLE, text=" ".join(sentences)),)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _count(estimate: Mapping[str, Any], key: str) -> int:
    value = estimate.get(key)
    return value if isinstance(value, int) else 0
