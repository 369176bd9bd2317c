"""The cache: least recently used out first, nothing past its time, and never more than it may hold."""

from __future__ import annotations

import math
import random

import pytest

from plimsoll.tokens.cache import CacheStats, CachingCounter, LruCache, upper_by_lines
from plimsoll.tokens.estimate import EstimatingCounter
from plimsoll.tokens.exact import ExactCounter, SplintrEngine


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        """Seconds."""
        return self.now_s


@pytest.fixture
def clock():
    """A clock at 0."""
    return Clock()


def kept(cache, keys="abcdef"):
    """Which keys are in it, without touching their order."""
    return [key for key in keys if key in cache]


@pytest.mark.spec("S1-02")
def test_entries_are_good_for_their_time_and_no_longer(clock):
    """An entry is there until its time has passed; reading it does not make it good for longer."""
    cache = LruCache(10, hold_s=10, clock_s=clock)
    cache.put("a", 1)
    clock.now_s = 9.9
    cache.put("b", 2)
    assert (cache.find("a"), cache.find("b")) == (1, 2)
    clock.now_s = 10
    assert (cache.find("a"), cache.find("b")) == (None, 2)
    assert cache.info().entries == 1


@pytest.mark.parametrize(("hold_s", "found"), [(0, None), (math.inf, 1)])
def test_a_time_of_zero_has_passed_and_infinity_never_does(clock, hold_s, found):
    """A time of 0 keeps nothing; infinity keeps until there is no room."""
    cache = LruCache(10, hold_s=hold_s, clock_s=clock)
    cache.put("a", 1)
    clock.now_s = 1e12

    assert cache.find("a") == found


def test_replacing_at_capacity_evicts_nothing(clock):
    """Storing a key that is there makes no other leave, and begins its time again."""
    cache = LruCache(2, hold_s=10, clock_s=clock)
    cache.put("a", 1)
    cache.put("b", 2)
    clock.now_s = 5
    cache.put("a", 3)
    assert (cache.find("a"), cache.find("b"), cache.info().evictions) == (3, 2, 0)
    clock.now_s = 10

    assert (cache.find("a"), cache.find("b")) == (3, None)


def test_expired_entries_make_room_before_live_ones(clock):
    """At capacity, what has expired goes first, however recently it was used; then nothing live goes."""
    cache = LruCache(2, hold_s=10, clock_s=clock)
    cache.put("b", 2)
    clock.now_s = 5
    cache.put("a", 1)
    cache.find("b")
    clock.now_s = 10
    cache.put("c", 3)

    assert kept(cache) == ["a", "c"]
    assert (cache.info().evictions, cache.info().expirations) == (0, 1)


@pytest.mark.spec("W1-26")
def test_least_recently_used_leaves_even_within_one_tick(clock):
    """Order of use decides, not the time on the clock: with the clock standing still the one just read stays."""
    cache = LruCache(3, clock_s=clock)
    for key in "abc":
        cache.put(key, key)
    cache.find("a")
    cache.put("d", "d")
    assert kept(cache) == ["a", "c", "d"]
    cache.find("c")
    cache.put("e", "e")

    assert kept(cache) == ["c", "d", "e"]


def test_clear_forgets_everything(clock):
    """After clearing nothing is left."""
    cache = LruCache(10, hold_s=5, clock_s=clock)
    for index in range(6):
        cache.put(index, index)
    cache.clear()

    assert (cache.info().entries, cache.find(5)) == (0, None)


def test_stats_count_what_happened(clock):
    """Hits, misses, evictions and expirations are counted as they happen."""
    cache = LruCache(1, hold_s=5, clock_s=clock)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.find("a")
    cache.find("b")
    clock.now_s = 9
    cache.find("b")

    assert cache.info() == CacheStats(entries=0, hits=1, misses=2, evictions=1, expirations=1)


def test_what_is_cached_is_not_made_again():
    """A result is made once, also one that is false."""
    cache, made = LruCache(10), []
    for _ in range(2):
        assert cache.get("zero", lambda: made.append(1) or 0) == 0

    assert made == [1]


@pytest.mark.parametrize("hold_s", [8, math.inf])
def test_behaves_as_a_slow_and_obvious_cache_does(clock, hold_s):
    """10,000 random steps give what a list searched from end to end gives."""
    rng = random.Random(37)
    cache = LruCache(5, hold_s=hold_s, clock_s=clock)
    model: list[tuple[str, int, float]] = []  # least recently used first
    for step in range(10_000):
        clock.now_s += rng.choice([0, 0, 1])
        key = rng.choice("abcdefgh")
        model = [entry for entry in model if entry[2] > clock.now_s]
        old = [entry for entry in model if entry[0] == key]
        model = [entry for entry in model if entry[0] != key]
        if rng.random() < 0.5:
            cache.put(key, step)
            model = [*model[-4:], (key, step, clock.now_s + hold_s)]
        else:
            assert cache.find(key) == (old[0][1] if old else None)
            model += old
        assert kept(cache, "abcdefgh") == sorted(entry[0] for entry in model)


def test_a_cache_of_nothing_keeps_nothing(clock):
    """With room for no entries every look is a miss."""
    cache = LruCache(0, clock_s=clock)
    cache.put("a", 1)

    assert cache.find("a") is None


def exact_by(texts: list[str]) -> CachingCounter:
    """A counter that notes which texts it was asked for."""
    engine = SplintrEngine("o200k_base")
    return CachingCounter(ExactCounter("o200k_base", lambda text: texts.append(text) or engine.count(text)))


@pytest.mark.parametrize("blank", ["", "\n", "  \n"])
def test_drafts_are_counted_by_their_lines_and_then_known_whole(blank):
    """The engine gets the lines of a draft one by one, together with blank lines after them; `upper` then knows the draft."""
    asked: list[str] = []
    counter = exact_by(asked)
    lines = [f"- berth {number}: grösser than before\n{blank}" for number in range(40)]
    draft = "".join(lines)
    tokens = upper_by_lines(counter, draft)
    assert list(filter(None, asked)) == lines
    assert counter.upper(draft) == counter.count(draft) == tokens == SplintrEngine("o200k_base").count(draft)
    assert len(asked) <= len(lines) + 1


def test_drafts_are_counted_whole_by_counters_whose_counts_may_not_add_up():
    """An estimate is rounded, and a caller's counter may count in any way."""
    draft = "one two three\n" * 100
    estimating = EstimatingCounter("o200k_base")
    assert upper_by_lines(CachingCounter(estimating), draft) == estimating.upper(draft)
    assert upper_by_lines(estimating, draft) == estimating.upper(draft)
