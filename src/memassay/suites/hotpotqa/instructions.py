"""What an agent is told before a question of HotPotQA, by how it reaches the pages."""

from __future__ import annotations

from memassay.core.asking import Instructions

instructions = Instructions(
    task=(
        "You answer questions from articles of an encyclopedia. {reach} Use only what the articles say. A question "
        "may need two of them: find the one that the question points at, and follow it to the one that holds the "
        "answer. Answer with the exact words of the article that answer the question: a name, a date, a number, or a "
        "short phrase; with yes or no where the question asks for that; with the name where it asks which of two. "
        "Write nothing else."
    ),
    dossier="The message gives you the articles that the memory found for this question.",
    tools="Search the articles with your tools, more than once if the first search is not enough.",
    folder="The articles lie as text files in your working folder: search and read them.",
)
