"""Exact counts in OpenAI's public vocabularies, offline: from their tables at first, by splintr from then on.

A special token spelled out in text, such as `<|endoftext|>`, counts as ordinary characters. Every call is linear. Long texts are
counted in slices, split where no token can span the cut, so that memory is bounded and the sum is exact.
"""

from __future__ import annotations

import os
from _thread import allocate_lock  # the Lock of threading, which takes half a millisecond to import
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

from plimsoll.light.packages import is_installed
from plimsoll.light.regex import regex
from plimsoll.limits import COUNT_ALONE_CHARS, COUNT_ENGINE_CHARS_MAX, COUNT_SLICE_CHARS, COUNT_TABLE_SLICE_CHARS
from plimsoll.tokens.table import VocabularyTable, lines_apart

BatchEngine: TypeAlias = "Callable[[Sequence[str]], list[int]]"
"""Counts many texts at once. None of them may contain the start of a special token."""

Engine: TypeAlias = Callable[[str], int]
"""Counts one text. May raise UnicodeEncodeError for lone surrogates, and nothing else."""

_SAFE_CUT = regex(
    r"(?<=\n)(?=[^\s/])"  # a new line that does not begin with a space or a slash
    r"|(?<=[!-~])(?= )"  # before the space after a visible ASCII character
    r"|(?<=[A-Za-z])(?=[0-9])"  # between a letter and a digit
    r"|(?<=[\u4e00-\u9fff\u3041-\u3096\u30a1-\u30fa\uac00-\ud7a3])(?=[，。、：；！？])"
)
"""Positions where the pre-tokenizers of both vocabularies always split, whatever the surrounding text."""

_SPECIAL = "<|"
"""The start of every special token; the flat encoder would encode it as one."""

_WARM_UP_WORD = "unladenswallowsxq"
"""A word of several tokens."""


class ExactCounter:
    """A TokenCounter with the provider's own counts. Thread-safe."""

    __slots__ = ("_batch", "_engine", "left_chars", "name", "warm")

    def __init__(
        self,
        name: str,
        engine: Engine,
        batch: BatchEngine | None = None,
        warm: Callable[[], None] = lambda: None,
        left_chars: Callable[[], int] = lambda: 0,
    ) -> None:
        """`engine` counts a text without lone surrogates; `batch` counts many at once, on all cores."""
        self.name = name
        self._engine = engine
        self._batch = batch
        self.warm = warm
        """Builds what the engine builds lazily. Releases the GIL if the engine does."""
        self.left_chars = left_chars
        """How many characters are counted one text at a time, so that counting them ahead saves nothing."""

    @property
    def exact(self) -> bool:
        """True: these are the provider's own counts."""
        return True

    def count(self, text: str) -> int:
        """Tokens of `text`. A lone surrogate counts as U+FFFD, which UTF-8 encoders replace it by."""
        if len(text) > COUNT_SLICE_CHARS:
            return sum(self._slice(part) for part in slices(text))
        return self._slice(text)

    def count_by_lines(self, text: str) -> int:
        """The same as `count`, by the counts of its lines, of which the engine remembers the short ones."""
        return sum(map(self.count, lines_apart(text)))

    def count_all(self, texts: Sequence[str]) -> list[int]:
        """The count of each text, on all cores if the engine supports it."""
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

    upper = count

    def _slice(self, text: str) -> int:
        try:
            return self._engine(text) if len(text) <= COUNT_ALONE_CHARS else self._long(text)
        except UnicodeEncodeError:
            return self._slice(without_surrogates(text))

    def _long(self, text: str) -> int:
        """The count of a text by the batch engine, if there is one, because it releases the GIL."""
        if self._batch is None:
            return self._engine(text)
        if _SPECIAL not in text:
            return sum(self._batch([text]))
        parts = list(slices(text, COUNT_ALONE_CHARS))
        plain = [part for part in parts if _SPECIAL not in part]
        return sum(self._batch(plain)) + sum(self._engine(part) for part in parts if _SPECIAL in part)


def without_surrogates(text: str) -> str:
    """The text with surrogate pairs joined and lone surrogates replaced by U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def slices(text: str, size_chars: int = COUNT_SLICE_CHARS) -> Iterator[str]:
    """Split a text where token counts add up, into slices of about `size_chars`. Linear.

    A stretch without such a position, such as a megabyte of one letter, is a single slice.
    """
    start = 0
    while start + size_chars < len(text):
        cut = _SAFE_CUT.search(text, start + size_chars)
        end = cut.start() if cut else len(text)
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]


def exact_counter(vocabulary: str) -> ExactCounter:
    """The counter of a vocabulary, loaded once per process. Thread-safe. Raises ImportError without splintr."""
    with _loading:
        if vocabulary not in _loaded:
            _loaded[vocabulary] = _load(vocabulary)
        return _loaded[vocabulary]


def forget_vocabularies() -> None:
    """Unload all vocabularies. Counters in use keep theirs."""
    with _loading:
        _loaded.clear()


def _load(vocabulary: str) -> ExactCounter:
    if not is_installed("splintr"):
        raise ImportError(f"no offline engine for {vocabulary}: install splintr-rs")
    engine = VocabularyEngine(vocabulary)
    return ExactCounter(vocabulary, engine.count, engine.count_all, engine.warm, engine.left_chars)


_loading = allocate_lock()
_loaded: dict[str, ExactCounter] = {}


class VocabularyEngine:
    """Counts by the vocabulary's table, and by splintr from the first text on that is not for the table. Thread-safe."""

    __slots__ = ("_splintr", "_table", "_vocabulary")

    def __init__(self, vocabulary: str) -> None:
        self._vocabulary = vocabulary
        self._table: VocabularyTable | None = VocabularyTable(vocabulary)
        self._splintr: SplintrEngine | None = None

    def count(self, text: str) -> int:
        """Tokens of one text. Raises UnicodeEncodeError for lone surrogates."""
        if (engine := self._splintr) is not None:
            return engine.count(text)
        table = self._table
        tokens = None if table is None else table.count(text)
        return self.splintr().count(text) if tokens is None else tokens

    def count_all(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text; many at once on all cores. None may contain the start of a special token."""
        counts = self._by_table(texts)
        return self.splintr().count_all(texts) if counts is None else counts

    def warm(self) -> None:
        """Load splintr, with the tables that it builds at the first word of several tokens, which takes longer than loading."""
        self.splintr().count_all([_WARM_UP_WORD])

    def left_chars(self) -> int:
        """How many characters the table may still count; 0 once splintr counts."""
        table = self._table
        return 0 if table is None else table.left

    def splintr(self) -> SplintrEngine:
        """The engine for everything, loaded once; the table is dropped."""
        if self._splintr is None:
            with _loading:
                self._splintr = self._splintr or SplintrEngine(self._vocabulary)
                self._table = None
        return self._splintr

    def _by_table(self, texts: Sequence[str]) -> list[int] | None:
        table = self._table
        if table is None or sum(map(len, texts)) > table.left:
            return None
        counts: list[int] = []
        for text in texts:
            parts = [table.count(part) for part in slices(text, COUNT_TABLE_SLICE_CHARS)]
            known = [part for part in parts if part is not None]
            if len(known) < len(parts):
                return None
            counts.append(sum(known))
        return counts


class SplintrEngine:
    """Counts with splintr, whose wheel contains the vocabularies.

    Its flat encoder is twice as fast but encodes special tokens, so text that may contain one takes the slower way. Its cache
    stores every distinct word without limit; it is cleared regularly so that hostile input cannot fill memory.
    """

    __slots__ = ("_seen_chars", "_tokenizer")

    def __init__(self, vocabulary: str) -> None:
        from splintr import Tokenizer  # noqa: PLC0415 - loading it costs more than importing all of plimsoll

        self._tokenizer = Tokenizer.from_pretrained(vocabulary)
        self._seen_chars = 0

    def count(self, text: str) -> int:
        """Tokens of one text."""
        self._limit_cache(len(text))
        if _SPECIAL in text:
            return len(self._tokenizer.encode_ordinary(text))
        return len(self._tokenizer.encode_flat(text)) >> 2

    def count_all(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, on all cores. None may contain the start of a special token.

        Reads only the row offsets: the ids are never converted to Python objects.
        """
        if _is_forked:
            return [self.count(text) for text in texts]
        self._limit_cache(sum(map(len, texts)))
        _, offsets = self._tokenizer.encode_batch_flat(list(texts))
        ends = memoryview(offsets).cast("Q").tolist()
        return [after - before for before, after in pairwise(ends)]

    def _limit_cache(self, size_chars: int) -> None:
        self._seen_chars += size_chars
        if self._seen_chars > COUNT_ENGINE_CHARS_MAX:
            self._seen_chars = size_chars
            self._tokenizer.clear_cache()


_is_forked = False
"""True in a process forked from one with a tokenizer: its threads are missing here, and a batch would wait for them forever."""


def _note_fork() -> None:
    global _is_forked, _loading
    _is_forked, _loading = True, allocate_lock()  # another thread may have held the lock during the fork


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)
