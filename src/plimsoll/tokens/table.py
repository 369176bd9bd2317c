"""Exact counts from vocabularies that are looked up in place: nothing is built before the first count.

The engine of `exact` takes a fifth of a second to build its tables, and then counts several times as fast as this. A process that
counts little, such as a command, is done by then. Two files are read (bench/make_tables.py): `NAME.tokens` is a hash table of the
tokens of more than one byte with their ranks, and `characters.kinds` has for each character the ASCII one that stands for it in a
pattern. The tokens are those of OpenAI's tiktoken (MIT: LICENSE.tiktoken).
"""

from __future__ import annotations

import re
import zlib
from functools import cache
from itertools import accumulate
from typing import Final

from plimsoll.light.packages import package_file
from plimsoll.light.regex import regex
from plimsoll.limits import COUNT_CACHE_TEXT_CHARS_MIN, COUNT_PIECE_BYTES_MAX, COUNT_TABLE_WORK_MAX

BUCKETS: Final = 1 << 14
PLACE_BYTES: Final = 3
INDEX_BYTES: Final = (BUCKETS + 1) * PLACE_BYTES
RANK_BYTES: Final = 3
KINDS_SIZE: Final = 0x32000
"""Characters with a kind. Those above, such as tags and private ones, are rare."""

_NO_RANK: Final = 1 << 24
_FOUND_WORK: Final = 25
"""The work of a call, and of looking up a new piece. The unit is the work of known ASCII text by the character, some 60 ns."""
_MERGED_WORK: Final = 20
"""The work of merging, by the byte: this for short pieces."""
_MERGED_BYTES: Final = 12
"""Each so many bytes of a piece are one more unit for every byte of it."""

_PATTERNS: Final = {
    "o200k_base": r"{word}(?:{contraction}|)"
    r"|[0-9]{{1,3}}+| ?[^{space}{letter}0-9]++[\r\n/]*+|[{space}]*[\r\n]++|[{space}]+(?![^{space}])|[{space}]+",
    "cl100k_base": r"{contraction}|[^\r\n{letter}0-9]?[{letter}]++|[0-9]{{1,3}}+| ?[^{space}{letter}0-9]++[\r\n]*+"
    r"|[{space}]+\Z|[{space}]*[\r\n]|[{space}]+(?![^{space}])|[{space}]",
}
"""The patterns of OpenAI's tiktoken, on text in which each character stands for its kind."""

_ASCII_WORD: Final = r"[^\r\nA-Za-z0-9]?+(?:[a-z]++|[A-Z]++[a-z]*+)"
_WORD: Final = r"[^\r\nA-Za-z\x010-9]?(?:[A-Z\x01\x02]*[a-z\x01\x02]+|[A-Z\x01\x02]+[a-z\x01\x02]*)"
"""A word, and what stands before it. In ASCII no character is both upper and lower case, so that nothing is tried a second time."""

_CONTRACTION: Final = r"(?:'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL]))"
_ASCII_LINE: Final = r"[\x00-\x09\x0b-\x7f]*+\n"
_CUT: Final = r"(?=(?!/)[ \t]*+\S|\Z)"
"""The start of a line that no piece of the line before extends into: neither blank nor beginning with a slash."""

_LINE: Final = rf"[^\n]*+\n?+(?:(?!{_CUT})[^\n]*+\n?+)*+"
"""A line, up to a cut."""

_LINES: Final = regex(_LINE)
_BLOCKS: Final = regex(rf"((?:{_ASCII_LINE}(?:(?!{_CUT}){_ASCII_LINE})*+{_CUT})++)|{_LINE}")
"""Lines of ASCII, else a line, up to a cut."""

_BLOCKS_CHARS_MIN: Final = 200
"""Length from which text is searched for lines of ASCII."""


@cache
def _pattern(vocabulary: str, *, is_ascii: bool) -> re.Pattern[str]:
    """The pattern for ASCII text, which stands for itself, or for stand-ins, of which 1 is a letter without case and 2 a mark."""
    letter, word = ("A-Za-z", _ASCII_WORD) if is_ascii else ("A-Za-z\x01", _WORD)
    form = _PATTERNS[vocabulary]
    return re.compile(form.format(letter=letter, word=word, space=r" \t-\r", contraction=_CONTRACTION))


@cache
def _kinds() -> bytes:
    return zlib.decompress(package_file("plimsoll.tokens", "characters.kinds"))


def lines_apart(text: str) -> list[str]:
    """The lines of a text, with their ends, where no token spans two of them; else several together. Linear."""
    return _LINES.findall(text)


def bucket_of(token: bytes) -> int:
    """The number of the bucket that has a token."""
    return zlib.crc32(token) % BUCKETS


class LongPiece(Exception):
    """A piece of text is too long to be merged here, where that takes quadratic time."""


class _Ranks(dict[bytes, int]):
    """The ranks of tokens, _NO_RANK for what is none; each looked up in the file once."""

    __slots__ = ("_data",)

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self._data = data

    def __missing__(self, token: bytes) -> int:
        data, place = self._data, bucket_of(token) * PLACE_BYTES
        # two numbers in one: the place of the next bucket, which is the end, stands behind that of this one, little-endian
        end, start = divmod(int.from_bytes(data[place : place + 2 * PLACE_BYTES], "little"), 1 << 8 * PLACE_BYTES)
        found = data.find(b"\xff%b\xfe" % token, start, end)
        at = found + len(token) + 2
        rank = self[token] = _NO_RANK if found < 0 else int.from_bytes(data[at : at + RANK_BYTES], "big")
        return rank


class _Counts(dict[str, int]):
    """The tokens of each piece and of each short text, counted once."""

    __slots__ = ("_ranks", "work")

    def __init__(self, ranks: _Ranks) -> None:
        super().__init__()
        self._ranks = ranks
        self.work = 0

    def __missing__(self, piece: str) -> int:
        token = piece.encode()
        if len(token) > COUNT_PIECE_BYTES_MAX:
            raise LongPiece
        self.work += _FOUND_WORK
        count = 1 if len(token) == 1 or self._ranks[token] < _NO_RANK else self._merged(token)
        self[piece] = count
        return count

    def _merged(self, token: bytes) -> int:
        """The number of tokens after all merges, the lowest rank first."""
        self.work += len(token) * (_MERGED_WORK + len(token) // _MERGED_BYTES)
        ranks, parts = self._ranks, [token[at : at + 1] for at in range(len(token))]
        pairs = [ranks[token[at : at + 2]] for at in range(len(token) - 1)]
        while pairs and (least := min(pairs)) < _NO_RANK:
            at = pairs.index(least)
            parts[at] += parts.pop(at + 1)
            del pairs[at]
            if at < len(pairs):
                pairs[at] = ranks[parts[at] + parts[at + 1]]
            if at:
                pairs[at - 1] = ranks[parts[at - 1] + parts[at]]
        return len(parts)


class VocabularyTable:
    """Counts until its work is done. Threads may share it."""

    __slots__ = ("_counts", "_of_piece", "_pieces", "_vocabulary")

    def __init__(self, vocabulary: str) -> None:
        """`vocabulary` is o200k_base or cl100k_base."""
        self._vocabulary = vocabulary
        self._counts = _Counts(_Ranks(package_file("plimsoll.tokens", f"{vocabulary}.tokens")))
        self._of_piece, self._pieces = self._counts.__getitem__, _pattern(vocabulary, is_ascii=True).findall

    @property
    def left(self) -> int:
        """How many characters of known text it may still count."""
        return COUNT_TABLE_WORK_MAX - self._counts.work

    def count(self, text: str) -> int | None:
        """Tokens of a text; None where it is too much, or has characters or pieces that are not for this.

        Raises UnicodeEncodeError for lone surrogates.
        """
        counts = self._counts
        if text in counts:
            return counts[text]
        work = counts.work + len(text)
        if work > COUNT_TABLE_WORK_MAX:
            return None
        counts.work = work + _FOUND_WORK
        try:
            tokens = self._ascii(text) if text.isascii() else self._any(text)
        except LongPiece:
            return None
        if tokens is not None and len(text) < COUNT_CACHE_TEXT_CHARS_MIN:
            counts[text] = tokens
        return tokens

    def _ascii(self, text: str) -> int:
        return sum(map(self._of_piece, self._pieces(text)))

    def _any(self, text: str) -> int | None:
        """The sum of its lines, of which most are ASCII where one character is not."""
        if len(text) < _BLOCKS_CHARS_MIN:
            return self._by_kinds(text)
        total = 0
        for block in _BLOCKS.finditer(text):
            found = block[0]
            tokens = self._ascii(found) if block.lastindex or found.isascii() else self._by_kinds(found)
            if tokens is None:
                return None
            total += tokens
        return total

    def _by_kinds(self, text: str) -> int | None:
        """Cut the text where the pattern cuts its stand-ins."""
        self._counts.work += len(text) + _FOUND_WORK
        kinds = text.translate(_kinds())
        if not kinds.isascii():
            return None
        ends = list(accumulate(map(len, _pattern(self._vocabulary, is_ascii=False).findall(kinds))))
        return sum(map(self._of_piece, map(text.__getitem__, map(slice, [0, *ends], ends))))
