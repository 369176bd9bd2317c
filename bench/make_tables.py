"""Write src/plimsoll/tokens/*.tokens and characters.kinds: what tokens/table.py counts with. Needs splintr-rs, and Python 3.11.

    python bench/make_tables.py

The tokens are those of OpenAI's tiktoken vocabularies (MIT licence), as splintr's wheel has them. The kinds are Unicode's general
categories, of the version that the oldest supported Python has: what is newer is counted by splintr.
"""

from __future__ import annotations

import unicodedata
import zlib
from pathlib import Path

from splintr import Tokenizer

from plimsoll.tokens.table import BUCKETS, INDEX_BYTES, KINDS_SIZE, PLACE_BYTES, RANK_BYTES, bucket_of

OUT = Path(__file__).parents[1] / "src/plimsoll/tokens"
SIZES = {"o200k_base": 199_998, "cl100k_base": 100_256}
RANK_BASE = 240
"""Digits of a rank are below it, so that none looks like the end of a token."""

UNICODE = "14.0.0"
SPACES = "\t\n\x0b\x0c\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
"""Unicode's property White_Space, which `\\s` means in the vocabularies' patterns."""

CASES = {"Lu": "A", "Lt": "A", "Ll": "a", "Lm": "\x01", "Lo": "\x01"}
UNKNOWN = "\xff"
LONG_S = "\u017f"
"""Its upper case is S. As the end of a contraction, engines do not agree about it."""


def kind_of(char: str) -> str:
    """The ASCII character that stands for a character in the pattern."""
    category = unicodedata.category(char)
    if char in "\r\n /'":
        return char
    if char in SPACES:
        return "\t"
    if char.isascii() and char.isalnum():
        return char
    if category == "Cn" or char == LONG_S:
        return UNKNOWN
    if category in CASES:
        return CASES[category]
    return {"M": "\x02", "N": "0"}.get(category[0], "!")


def kinds() -> bytes:
    """The stand-in of each character, by its number."""
    assert unicodedata.unidata_version == UNICODE
    return zlib.compress("".join(map(kind_of, map(chr, range(KINDS_SIZE)))).encode("latin-1"), 9)


def tokens_of(vocabulary: str) -> list[bytes]:
    """The tokens of a vocabulary by rank."""
    tokenizer = Tokenizer.from_pretrained(vocabulary)
    return [tokenizer.decode_token_bytes(number) for number in range(SIZES[vocabulary])]


def entry(token: bytes, rank: int) -> bytes:
    """A token and its rank, as the table has them."""
    digits = [rank // RANK_BASE**place % RANK_BASE for place in reversed(range(RANK_BYTES))]
    return b"\xff%b\xfe%b" % (token, bytes(digits))


def table(tokens: list[bytes]) -> bytes:
    """The tokens of more than one byte, by bucket, after the index of the buckets."""
    buckets = [b""] * BUCKETS
    for rank, token in enumerate(tokens):
        if len(token) > 1:
            assert not {0xFE, 0xFF} & set(token)
            buckets[bucket_of(token)] += entry(token, rank)
    places, at = [], INDEX_BYTES
    for bucket in buckets:
        places.append(at)
        at += len(bucket)
    return b"".join(place.to_bytes(PLACE_BYTES, "little") for place in [*places, at]) + b"".join(buckets)


def main() -> None:
    """Write the files."""
    (OUT / "characters.kinds").write_bytes(kinds())
    for vocabulary in SIZES:
        (OUT / f"{vocabulary}.tokens").write_bytes(table(tokens_of(vocabulary)))


if __name__ == "__main__":
    main()
