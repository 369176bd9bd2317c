"""How well each exchange answers what is asked next: a small BM25 over words, numbers and Chinese characters."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from plimsoll.compaction.piece import Block
from plimsoll.regex import regex

_WORD = regex(r"[^\W_\u3040-\u9fff\uac00-\ud7af]+|[\u3040-\u9fff\uac00-\ud7af]")
_TEXT_CHARS_MAX = 20_000
_K1, _B = 1.2, 0.75
"""The usual BM25 constants (Robertson and Zaragoza, 2009)."""


def words(text: str) -> list[str]:
    """Lower-case words and numbers; each CJK character by itself."""
    return [word.lower() for word in _WORD.findall(text)]


def relevance(blocks: Sequence[Block], query: str) -> list[float]:
    """A score a block, 0 when it shares no word with the query. Linear in the text; very long texts by their beginning."""
    asked = set(words(query))
    found = [Counter(word for word in words(_said(block)) if word in asked) for block in blocks]
    sizes = [min(sum(len(piece.message.text) for piece in block.pieces), _TEXT_CHARS_MAX) + 1 for block in blocks]
    mean = sum(sizes) / max(1, len(sizes))
    spread = Counter(word for counts in found for word in counts)
    weight = {word: math.log(1 + (len(blocks) - n + 0.5) / (n + 0.5)) for word, n in spread.items()}
    return [
        sum(weight[word] * n * (_K1 + 1) / (n + _K1 * (1 - _B + _B * size / mean)) for word, n in counts.items())
        for counts, size in zip(found, sizes, strict=True)
    ]


def _said(block: Block) -> str:
    texts = (
        "\n".join([piece.message.text, *(call.arguments for call in piece.message.calls)]) for piece in block.pieces
    )
    return "\n".join(texts)[:_TEXT_CHARS_MAX]
