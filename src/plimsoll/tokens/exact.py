"""Exact counts in OpenAI's public vocabularies, offline.

Text is always text: a special token spelled out in it, such as `<|endoftext|>`, counts as the characters it is written
with. Every call is linear in the length of the text. Long texts are counted in slices cut where no token can span the
cut, so memory stays that of one slice, and the sum is still exact.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from itertools import pairwise
from threading import Lock
from typing import TypeAlias

from plimsoll.limits import COUNT_ALONE_CHARS, COUNT_ENGINE_CHARS_MAX, COUNT_SLICE_CHARS
from plimsoll.regex import regex

VOCABULARIES = ("o200k_base", "cl100k_base")
"""`o200k_base` is used from gpt-4o on, `cl100k_base` by gpt-4 and gpt-3.5-turbo."""

BatchEngine: TypeAlias = "Callable[[Sequence[str]], list[int]]"
"""Counts many texts at once, none of which could hold a special token."""

Engine: TypeAlias = Callable[[str], int]
"""Counts one text. May raise UnicodeEncodeError on lone surrogates, and nothing else."""

_SAFE_CUT = regex(
    r"(?<=\n)(?=[^\s/])"  # a new line that does not begin with a space or a slash
    r"|(?<=[!-~])(?= )"  # before the space after a visible ASCII character
    r"|(?<=[A-Za-z])(?=[0-9])"  # between a letter and a digit
    r"|(?<=[\u4e00-\u9fff\u3041-\u3096\u30a1-\u30fa\uac00-\ud7a3])(?=[，。、：；！？])"
)
"""Places that both vocabularies' pre-tokenizers always split at, whatever stands on either side."""

_SPECIAL = "<|"
"""How every special token begins. The flat encoder would take one for what it spells."""

_UNUSUAL = "unladenswallowsxq"
"""A word of several tokens: splintr makes its table of merges when it meets the first one, which takes longer than loading."""


class ExactCounter:
    """A TokenCounter that gives the provider's own count of a text. Safe to share."""

    __slots__ = ("_batch", "_engine", "name")

    def __init__(self, name: str, engine: Engine, batch: BatchEngine | None = None) -> None:
        """`engine` counts a text that has no lone surrogates; `batch` many at once, on all cores."""
        self.name = name
        self._engine = engine
        self._batch = batch

    @property
    def exact(self) -> bool:
        """True: these are the provider's own counts."""
        return True

    def warm(self) -> None:
        """Have the engine make what it makes at its first unusual word. Other threads run meanwhile where the engine lets them."""
        self.count_all([_UNUSUAL])

    def count(self, text: str) -> int:
        """Tokens of `text`. Each lone surrogate counts as U+FFFD, which is what any UTF-8 encoder would send."""
        if len(text) > COUNT_SLICE_CHARS:
            return sum(self._slice(part) for part in slices(text))
        return self._slice(text)

    def count_all(self, texts: Sequence[str]) -> list[int]:
        """The count of each text, on all cores where the engine can."""
        if self._batch is None:
            return [self.count(text) for text in texts]
        plain = [text for text in texts if len(text) <= COUNT_SLICE_CHARS and _SPECIAL not in text]
        try:
            counts = iter(self._batch(plain))
        except UnicodeEncodeError:
            return [self.count(text) for text in texts]
        return [
            next(counts) if len(text) <= COUNT_SLICE_CHARS and _SPECIAL not in text else self.count(text)
            for text in texts
        ]

    def upper(self, text: str) -> int:
        """The same as `count`: nothing is estimated."""
        return self.count(text)

    def _slice(self, text: str) -> int:
        try:
            return self._engine(text) if len(text) <= COUNT_ALONE_CHARS else self._long(text)
        except UnicodeEncodeError:
            return self._slice(without_surrogates(text))

    def _long(self, text: str) -> int:
        """The count of a text by the batch engine where there is one: that lets other threads run meanwhile."""
        if self._batch is None:
            return self._engine(text)
        if _SPECIAL not in text:
            return sum(self._batch([text]))
        parts = list(slices(text, COUNT_ALONE_CHARS))
        plain = [part for part in parts if _SPECIAL not in part]
        return sum(self._batch(plain)) + sum(self._engine(part) for part in parts if _SPECIAL in part)


def without_surrogates(text: str) -> str:
    """The text with surrogate pairs joined and each lone surrogate replaced by U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def slices(text: str, size_chars: int = COUNT_SLICE_CHARS) -> Iterator[str]:
    """Cut a text where its token counts add up, into slices of about `size_chars`. Linear.

    A stretch without any safe place, such as a megabyte of one letter, stays one slice however long it is.
    """
    start = 0
    while start < len(text):
        cut = _SAFE_CUT.search(text, start + size_chars)
        end = cut.start() if cut else len(text)
        yield text[start:end]
        start = end


def exact_counter(vocabulary: str) -> ExactCounter:
    """The counter of a vocabulary, loaded once per process. Threads wait for each other. Raises ImportError without splintr."""
    with _loading:
        if vocabulary not in _loaded:
            _loaded[vocabulary] = _load(vocabulary)
        return _loaded[vocabulary]


def forget_vocabularies() -> None:
    """Load each vocabulary again when it is next asked for. Counters in use keep theirs."""
    with _loading:
        _loaded.clear()


def _load(vocabulary: str) -> ExactCounter:
    if find_spec("splintr") is None:
        raise ImportError(f"no offline engine for {vocabulary}: install splintr-rs")
    engine = SplintrEngine(vocabulary)
    return ExactCounter(vocabulary, engine.count, engine.count_all)


_loading = Lock()
_loaded: dict[str, ExactCounter] = {}


class SplintrEngine:
    """Counts by splintr, whose wheel carries the vocabularies.

    Its flat encoder is twice as fast but reads special tokens in text, so text that could hold one takes the other way.
    Its cache keeps every distinct word, however long; it is emptied now and then so that hostile words are not kept.
    """

    __slots__ = ("_seen_chars", "_tokenizer")

    def __init__(self, vocabulary: str) -> None:
        from splintr import Tokenizer  # noqa: PLC0415 - loading it costs more than importing all of plimsoll

        self._tokenizer = Tokenizer.from_pretrained(vocabulary)
        self._seen_chars = 0

    def count(self, text: str) -> int:
        """Tokens of one text."""
        self._saw(len(text))
        if _SPECIAL in text:
            return len(self._tokenizer.encode_ordinary(text))
        return len(self._tokenizer.encode_flat(text)) >> 2

    def count_all(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each of many texts, none of which could hold a special token, on all cores.

        The ids never become Python objects: only where each row ends is read.
        """
        if _is_forked:
            return [self.count(text) for text in texts]
        self._saw(sum(map(len, texts)))
        _, offsets = self._tokenizer.encode_batch_flat(list(texts))
        ends = memoryview(offsets).cast("Q").tolist()
        return [after - before for before, after in pairwise(ends)]

    def _saw(self, size_chars: int) -> None:
        self._seen_chars += size_chars
        if self._seen_chars > COUNT_ENGINE_CHARS_MAX:
            self._seen_chars = size_chars
            self._tokenizer.clear_cache()


_is_forked = False
"""Whether this process is the child of one that had the tokenizer: its threads are not here, and a batch would wait for them."""


def _note_fork() -> None:
    global _is_forked, _loading
    _is_forked, _loading = True, Lock()  # the thread that held the lock is not here


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)
