"""Pages that nobody wrote: a title of two words, some 60 words with the frequencies of a language, three links."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

SYLLABLES = [a + b for a in "bdfgklmnprst" for b in ("a", "e", "i", "o", "u", "an", "er", "il", "os")]
LENGTH, LINKS = 60, 3
_BLOCK = 1_000


def word(number: int) -> str:
    """A word of its own for every number."""
    found = ""
    number += len(SYLLABLES)
    while number:
        number, rest = divmod(number, len(SYLLABLES))
        found += SYLLABLES[rest]
    return found


class Pages:
    """``count`` pages; page ``i`` is the same whenever it is asked for.

    Args:
        count: how many pages.
        vocabulary: how many words there are.
    """

    def __init__(self, count: int, vocabulary: int) -> None:
        self.count = count
        self._words = [word(number) for number in range(vocabulary)]
        self._block = lru_cache(maxsize=2)(self._drawn)

    def key(self, number: int) -> str:
        return f"p{number:07d}"

    def keys(self) -> list[str]:
        return [self.key(number) for number in range(self.count)]

    def title(self, number: int) -> str:
        drawn, _ = self._block(number // _BLOCK)
        words = drawn[number % _BLOCK][:2]
        return " ".join(self._words[at].title() for at in words)

    def text(self, number: int) -> str:
        drawn, links = self._block(number // _BLOCK)
        words = [self._words[at] for at in drawn[number % _BLOCK][2:]]
        for at, target in enumerate(links[number % _BLOCK]):
            place = (at + 1) * LENGTH // (LINKS + 1)
            words[place] = f"[{words[place]}]({self.key(int(target))}.md)"
        return f"# {self.title(number)}\n\n{' '.join(words)}.\n"

    def question(self, number: int) -> list[str]:
        """Words of a page, as a question would hold them: three of them, and two that are everywhere."""
        drawn, _ = self._block(number // _BLOCK)
        return [self._words[at] for at in [*drawn[number % _BLOCK][5:8], 3, 11]]

    def _drawn(self, block: int) -> tuple[list[list[int]], np.ndarray]:
        rng = np.random.default_rng([17, block, self.count])
        # Zipf's law with exponent 1: the word of rank r is drawn with a chance in proportion to 1 / r.
        ranks = np.exp(rng.random((_BLOCK, LENGTH + 2)) * np.log(len(self._words) + 1)).astype(np.int64) - 1
        return ranks.tolist(), rng.integers(0, self.count, (_BLOCK, LINKS))
