"""How many objects a session holds that the garbage collector must visit: a full collection stops every thread for them."""

import gc

from plimsoll.message import text_message
from plimsoll.recall.index import Index

WORDS_PER_MESSAGE = 60


def tracked() -> set[int]:
    """The objects that the collector would visit, by identity."""
    gc.collect()
    return set(map(id, gc.get_objects()))


def words(number: int) -> str:
    """A text of words that no other text has."""
    return " ".join(f"w{number}x{n}" for n in range(WORDS_PER_MESSAGE))


def test_a_search_index_has_no_object_for_each_word():
    """An index of thousands of words has two tracked objects for a message at most."""
    index = Index()
    index.add(text_message("user", words(0)), 0)
    before = tracked()
    for number in range(1, 100):
        index.add(text_message("user", words(number)), number)
    assert len(tracked() - before) < 2 * 100
    assert len(index.segments[-1].units) >= 100 * WORDS_PER_MESSAGE
