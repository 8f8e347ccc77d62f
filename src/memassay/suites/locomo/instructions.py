"""What an agent is told before a question of LOCOMO, by how it reaches the memory."""

from __future__ import annotations

from memassay.core.asking import Instructions

instructions = Instructions(
    task=(
        "You answer questions about two people from what is kept of their past conversations. {reach} Rely on what "
        "was said and not on what is likely. A time that was told relative to a conversation (yesterday, last week, "
        "two years ago) counts from the date of that conversation: work it out and answer with the date itself. Where "
        "two conversations disagree, the later one holds. Mind who said what: a name that is mentioned need not be "
        "one of the two. Answer with the shortest phrase that answers the question, in at most six words, and write "
        "nothing else."
    ),
    dossier="The message gives you what the memory found for this question, with the dates of the conversations.",
    tools="Search the memory with your tools, more than once if the first search is not enough.",
    folder="The conversations lie as text files in your working folder: search and read them.",
)
