"""Properties of recall: hits are verbatim, within their tokens, and match the query."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amounts import examples
from generated import FORMATS, random_broken_history
from plimsoll.compaction.references import place_of, text_of
from plimsoll.formats.registry import decode_all
from plimsoll.message import text_message
from plimsoll.recall.index import Index
from plimsoll.recall.search import search
from plimsoll.recall.words import Terms, words
from plimsoll.tokens.estimate import EstimatingCounter

COUNTER = EstimatingCounter()
texts = st.text(st.characters() | st.sampled_from("ab \n保利\ud800\x00_A1"), max_size=600)


def checked(messages, query, max_tokens):
    """The hits, each of them checked."""
    index = Index()
    for position, message in enumerate(messages):
        index.add(message, position)
    hits = search(index, query, shown={1}, counter=COUNTER, max_tokens=max_tokens)
    for hit in hits:
        position, _ = place_of(hit.reference)
        assert position == hit.position != 1
        assert hit.text
        assert text_of(messages[position], hit.reference)[hit.offset :].startswith(hit.text)
        assert 0 < hit.score <= 1
    assert sum(COUNTER.upper(hit.text) for hit in hits) <= max_tokens
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    return hits


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(texts, max_size=6), texts, st.integers(0, 300))
def test_hits_are_word_for_word(said_texts, query, max_tokens):
    """For any texts and query, each hit is at its position and offset, in at most the tokens asked for."""
    checked([text_message("user", text) for text in said_texts], query, max_tokens)


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=examples(40), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_hits_in_every_format(format, seed):
    """The same in broken histories of every format, with words that occur in them as the query."""
    rng = random.Random(seed)
    wires = random_broken_history(rng, format)
    _, messages = decode_all(wires, format)
    spoken = words(" ".join(message.text[:2_000] for message in messages)) or ["word"]
    checked(messages, " ".join(rng.choices(spoken, k=4)), 500)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(texts.filter(str.strip), min_size=1, max_size=8), st.data())
def test_a_message_is_found_by_its_own_words(said_texts, data):
    """A query that is the text of a short message finds that message or one with the same words, if it has any words."""
    said_texts = [text[:200] for text in said_texts]
    wanted = data.draw(st.sampled_from(said_texts))
    index = Index()
    for position, text in enumerate(said_texts):
        index.add(text_message("user", text), position)
    found = search(index, wanted, shown=(), counter=COUNTER, max_tokens=100_000)
    terms = Terms()

    if terms.of(wanted) and wanted.strip():
        assert any(terms.of(hit.text) & terms.of(wanted) for hit in found)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(texts, max_size=8), texts)
def test_growing_is_the_same_as_beginning_anew(said_texts, query):
    """An index that was searched while it grew returns the same as one built at the end."""
    grown, fresh = Index(), Index()
    for position, text in enumerate(said_texts):
        grown.add(text_message("user", text), position)
        search(grown, query, shown=(), counter=COUNTER, max_tokens=100)
    for position, text in enumerate(said_texts):
        fresh.add(text_message("user", text), position)

    answers = [search(index, query, shown=(), counter=COUNTER, max_tokens=300) for index in (grown, fresh)]
    assert answers[0] == answers[1]
