"""The scores of the data sets' own scorers, so that published rows can be set beside ours.

LOCOMO: ``task_eval/evaluation.py`` of snap-research/locomo. HotPotQA: ``hotpot_evaluate_v1.py`` of hotpotqa/hotpot.
Written from what those scripts do, which is more than is said of them in places; see docs/judges.md.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

from memassay.judging.scores import harmonic
from memassay.judging.stems import stem

ABSTENTIONS = ("no information available", "not mentioned")
"""What an answer to an adversarial question of LOCOMO has to say, in any case; nothing else counts as abstaining."""

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_ARTICLES_AND_AND = re.compile(r"\b(?:a|an|the|and)\b")
_CLOSED = frozenset({"yes", "no", "noanswer"})


def locomo_f1(answer: str, gold: str | None, category: str) -> float | None:
    """LOCOMO's score of one answer.

    Args:
        answer: what was said; "" scores 0.
        gold: the gold answer, or None where the data has none.
        category: the name of the question's category in the suite.

    Returns:
        In [0, 1]. Multi-hop: both are split at commas, and each piece of the gold gets the best F1 of any piece of the
        answer; their mean. Single-hop, temporal and open-domain: one F1; of an open-domain gold only what stands before
        a semicolon. Adversarial: 1 where the answer abstains in the scorer's words, whatever the gold. None where the
        gold is missing and is needed.
    """
    if category == "adversarial":
        return float(any(words in answer.lower() for words in ABSTENTIONS))
    if gold is None:
        return None
    if category == "multi-hop":
        said = [_locomo_words(piece) for piece in answer.split(",")]
        best = [max(_f1(one, _locomo_words(piece)) for one in said) for piece in gold.split(",")]
        return sum(best) / len(best)
    if category == "open-domain":
        gold = gold.partition(";")[0]
    return _f1(_locomo_words(answer), _locomo_words(gold))


def hotpot_scores(answer: str, gold: str) -> tuple[float, float]:
    """HotPotQA's exact match and F1 of one answer, each in [0, 1].

    Both are lower-cased and lose punctuation and articles. A yes, a no or "noanswer" on one side alone has F1 0.
    """
    said, right = _normalised(answer, _ARTICLES), _normalised(gold, _ARTICLES)
    if said == right:
        return 1.0, float(bool(right))
    if said in _CLOSED or right in _CLOSED:
        return 0.0, 0.0
    return 0.0, _f1(said.split(), right.split())


def _locomo_words(text: str) -> list[str]:
    return [stem(word) for word in _normalised(text, _ARTICLES_AND_AND).split()]


def _normalised(text: str, articles: re.Pattern[str]) -> str:
    """Lower case without punctuation, articles and more than one blank."""
    return " ".join(articles.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def _f1(said: Sequence[str], right: Sequence[str]) -> float:
    """F1 over words that count as often as they stand there."""
    return harmonic((Counter(said) & Counter(right)).total(), len(said), len(right))
