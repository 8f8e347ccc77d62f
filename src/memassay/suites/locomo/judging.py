"""What a right answer to a question of LOCOMO is, for a judge with a model."""

from __future__ import annotations

from memassay.core.errors import UnknownName

_CRITERIA = {
    "binary": """\
The questions are about long conversations between two people; references are short notes, sometimes lists.
- CORRECT: the answer says the same as the reference of the same person: the same thing, place, feeling, reason or \
number, in any words. Of a list in the reference every item is named, and nothing that does not belong to it.
- A time is CORRECT if it means the same day, or the same week, month or year where the reference says no more; "the \
week before 9 June 2023" and any date or words that mean that week agree. A day that is off by one is WRONG.
- Where the reference says what is likely ("likely no"), the answer has to lean the same way; its reasons may differ.
- Form does not matter: capitals, punctuation, date formats, digits or words for a number, a sentence in place of a \
phrase. More detail does not matter unless it contradicts the reference.
- WRONG: another thing or person, the right thing of the wrong speaker, a vaguer answer than the question asks for, \
talk about the topic that does not answer, several answers to choose from, or not knowing.""",
    "lenient": """\
The questions are about long conversations between two people; references are short, answers may be much longer.
- Be generous. CORRECT: the answer touches on the same thing as the reference, whatever else it says.
- A time is CORRECT if it means the same day, month or period as the reference, in any format; relative times such as \
"last Tuesday" or "next month" included.
- WRONG: only what does not speak of what the reference says, or says that it does not know.""",
}


def criteria(variant: str) -> str:
    """The criteria of LOCOMO for a variant of the judge.

    Raises:
        UnknownName: there is no such variant.
    """
    if variant not in _CRITERIA:
        raise UnknownName("variant of the judge", variant, _CRITERIA)
    return _CRITERIA[variant]
