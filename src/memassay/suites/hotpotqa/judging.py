"""What a right answer to a question of HotPotQA is, for a judge with a model."""

from __future__ import annotations

from memassay.core.errors import UnknownName

_CRITERIA = {
    "binary": """\
The questions need facts of two articles of an encyclopedia; references are a name, a number, a date, a phrase, yes \
or no.
- CORRECT: the answer names the same entity, value or date as the reference, or says the same yes or no.
- Form does not matter: capitals, punctuation, articles, titles and middle names, accents, "US" for "United States", \
digits or words for a number, another way to write the same date, a sentence in place of the phrase.
- A name is CORRECT if it can mean nothing but what the reference names; part of the place that a reference gives \
("Oslo" for "Oslo, Norway") is enough where the question asks for no more.
- WRONG: another entity or value, a broader or a narrower one, the opposite yes or no, a yes or no in place of a name \
or the other way round, several answers to choose from, or not knowing.""",
    "lenient": """\
The questions need facts of two articles of an encyclopedia; references are a name, a number, a date, a phrase, yes \
or no.
- Be generous. CORRECT: the answer touches on what the reference names, whatever else it says and however it is put.
- Where the reference is yes or no, the answer has to come to the same.
- WRONG: only what does not speak of what the reference names, or says that it does not know.""",
}


def criteria(variant: str) -> str:
    """The criteria of HotPotQA for a variant of the judge.

    Raises:
        UnknownName: there is no such variant.
    """
    if variant not in _CRITERIA:
        raise UnknownName("variant of the judge", variant, _CRITERIA)
    return _CRITERIA[variant]
