"""Whether a text says what a fact says, in other words: by stems, line by line, with the same denial."""

from __future__ import annotations

from plimsoll.light.regex import regex
from plimsoll.summary.ledger.sentences import sentences

_WORD = regex(r"[^\W_\u3040-\u30ff\u3400-\u9fff]+(?:['’][a-z]{1,2})?|[\u3040-\u30ff\u3400-\u9fff]+")
_DENIAL = regex(
    r"\b(?:no|not|never|none|without|avoid|cannot|don'?t|doesn'?t|can'?t|won'?t|shouldn'?t|mustn'?t|unless|except|forbid(?:den|s)?)\b"
    r"|不|别|勿|禁|没|未|无|非",
)
_POLITE = frozenset(
    """
    pleas would could should like want need that this with from have will your them they then than also thank thanks reall sorry
    right actua maybe hello there just okay great which these those over where when what exact could some into only
    """.split()
)
"""Stems that say nothing of what is asked."""

_STEM_CHARS = 5
_SHORT_CHARS = 3
SHARE_MIN = 0.6
_NEIGHBOURS = 1
"""Statements before and after one that may hold the rest of what it says."""


class Statements:
    """The statements of a text with their terms, to be asked for many facts."""

    def __init__(self, text: str) -> None:
        self.folded = " ".join(text.casefold().split())
        lines = [sentence for line in text.casefold().split("\n") for sentence in sentences(line)]
        self._terms = [terms(line) for line in lines]
        self._denies = [_DENIAL.search(line) is not None for line in lines]
        self.all_terms = frozenset[str]().union(*self._terms)

    def say(self, text: str, *, denied: bool, share_min: float = SHARE_MIN) -> bool:
        """Whether a statement and its neighbours hold so many terms of a text. If `denied`, they deny what it denies."""
        folded = text.casefold()
        own = " ".join(folded.split())
        if own and own in self.folded:
            return True
        needed = terms(folded)
        if not needed or len(needed & self.all_terms) < len(needed) * share_min:
            return False
        denies = denied and _DENIAL.search(folded) is not None
        for at, found in enumerate(self._terms):
            if not needed & found:
                continue
            near = range(max(0, at - _NEIGHBOURS), min(len(self._terms), at + _NEIGHBOURS + 1))
            held = frozenset[str]().union(*(self._terms[other] for other in near))
            if len(needed & held) >= len(needed) * share_min and (not denies or any(self._denies[o] for o in near)):
                return True
        return False


def terms(folded: str) -> frozenset[str]:
    """The stems of a text in lower case; pairs of characters for CJK text. Short words count only if nothing else is there."""
    found: set[str] = set()
    short: set[str] = set()
    for word in _WORD.findall(folded):
        if not word.isascii() and "\u3040" <= word[0] <= "\u9fff":
            found.update(word[at : at + 2] for at in range(max(1, len(word) - 1)))
        elif _DENIAL.fullmatch(word):
            short.add(word)
        elif len(word) > _SHORT_CHARS or any(map(str.isdigit, word)):
            found.add(word if any(map(str.isdigit, word)) else word[:_STEM_CHARS])
        else:
            short.add(word)
    return frozenset(found - _POLITE or found or short)
