"""Readings of what was said are kept while a session is open, and no longer."""

from __future__ import annotations

import gc
from functools import _lru_cache_wrapper

import plimsoll
from plimsoll.compaction.notes_shown import notes_message
from plimsoll.memory.in_memory import InMemoryMemoryStore
from plimsoll.memory.meaning import meaning_of
from plimsoll.message import text_message
from plimsoll.summary import dense, dense_zh, folders, kept, names_zh, repeated, topics, vocabulary
from plimsoll.summary.ledger import Ledger, extend, prose
from plimsoll.summary.rules import render

MARK = "quokka"
SAID = {
    "en": f"I went to the {MARK} enclosure on 4 May with Ann, and we fixed fence number {{}}.",
    "zh": f"我上周去了{MARK}公园，觉得故宫第{{}}次更好玩，你知道长城在哪里吗？门票是40元。",
}


def held():
    """The caches of the modules that read what was said, which hold the marked word."""
    modules = (dense, dense_zh, folders, names_zh, topics, vocabulary, prose)
    caches = [value for module in modules for value in vars(module).values() if isinstance(value, _lru_cache_wrapper)]
    return [cache.__name__ for cache in caches if MARK in repr(gc.get_referents(cache))]


def test_a_closed_session_leaves_no_text_behind():
    """While it is open, several readers keep what was said."""
    kept.forget()
    for language, said in SAID.items():
        messages = [{"role": ("user", "assistant")[n % 2], "content": said.format(n)} for n in range(60)]
        with plimsoll.open(language, store="memory:", max_tokens=700) as session:
            session.extend(messages)
            session.view()
            assert len(held()) > 2
        assert held() == []


def test_forgotten_memories_and_notes_leave_no_text_behind():
    """What is compared and shown again and again is kept until a memory is forgotten, or a session closed."""
    store = InMemoryMemoryStore()
    with plimsoll.open_memory(store) as memories:
        memories.add(f"I prefer the {MARK} theme.")
        assert MARK in repr(gc.get_referents(meaning_of))
        memories.forget(memories.list()[0].id)
        assert MARK not in repr(gc.get_referents(meaning_of))
        memories.add(f"I prefer the {MARK} theme.")
        with plimsoll.open("noted", store="memory:", memory=store) as session:
            session.view()
            assert MARK in repr(gc.get_referents(notes_message))
    assert MARK not in repr(gc.get_referents(notes_message))


def test_the_values_of_a_ledger_are_sorted_out_once(monkeypatch, counter):
    """However often a summary is rendered, the lines that every program prints are looked for once in the facts of its ledger."""
    kept.forget()
    looked = []
    find = repeated._stamps
    monkeypatch.setattr(repeated, "_stamps", lambda facts: looked.append(1) or find(facts))
    ledger = extend(Ledger.empty(), [text_message("user", "The port is 8443 and the build is 5f3a9c1.")] * 2, 0)
    texts = {render(ledger, tokens_max=tokens, counter=counter, language="en").text for tokens in (60, 200, 900)}
    assert texts
    assert looked == [1]


def test_texts_that_are_read_at_once_are_read_once_each():
    """Those that are known are not given to the reader again, and `forget` forgets them."""
    asked: list[list[str]] = []

    @kept.kept_at_once(2)
    def lengths(texts):
        asked.append(list(texts))
        return list(map(len, texts))

    assert lengths(["a", "bbb", "a", "cc"]) == [1, 3, 1, 2]
    assert lengths(["cc", "bbb"]) == [2, 3]
    assert lengths(["a"]) == [1]  # the oldest: two are kept
    kept.forget()
    assert lengths(["cc"]) == [2]
    assert asked == [["a", "bbb", "cc"], ["a"], ["cc"]]
