"""The cache: least recently used out first, nothing past its time, and never more than it may hold."""

from __future__ import annotations

import math
import random

import pytest

from plimsoll.errors import SettingError
from plimsoll.store.cache import Cache, CacheStats


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
    return [key for key in keys if key in cache._entries]


@pytest.mark.spec("S1-02")
def test_entries_are_good_for_their_time_and_no_longer(clock):
    """An entry is there until its time has passed; reading it does not make it good for longer."""
    cache = Cache(10, ttl_s=10, clock_s=clock)
    cache.set("a", 1)
    cache.set("b", 2, ttl_s=20)
    clock.now_s = 9.9
    assert (cache.get("a"), cache.get("b")) == (1, 2)
    clock.now_s = 10
    assert (cache.get("a"), cache.get("b")) == (None, 2)
    assert len(cache) == 1


def test_a_time_of_zero_has_passed_and_infinity_never_does(clock):
    """A time to live of 0 keeps nothing, and takes away what was there; infinity keeps until there is no room."""
    cache = Cache(10, ttl_s=0, clock_s=clock)
    cache.set("a", 1)
    assert (cache.get("a"), len(cache)) == (None, 0)
    cache.set("a", 1, ttl_s=math.inf)
    clock.now_s = 1e12
    assert cache.get("a") == 1
    cache.set("a", 2, ttl_s=0)
    assert cache.get("a") is None


def test_replacing_at_capacity_evicts_nothing(clock):
    """Setting a key that is there makes no other leave."""
    cache = Cache(2, clock_s=clock)
    cache.set("a", 1)
    cache.set("b", 2)
    cache.set("a", 3)

    assert (cache.get("a"), cache.get("b"), cache.stats().evictions) == (3, 2, 0)


def test_expired_entries_make_room_before_live_ones(clock):
    """At capacity, what has expired goes first, however recently it was used; then nothing live goes."""
    cache = Cache(2, clock_s=clock)
    cache.set("a", 1, ttl_s=100)
    cache.set("b", 2, ttl_s=1)
    cache.get("b")
    clock.now_s = 1
    cache.set("c", 3)

    assert kept(cache) == ["a", "c"]
    assert (cache.stats().evictions, cache.stats().expirations) == (0, 1)


@pytest.mark.spec("W1-26")
def test_least_recently_used_leaves_even_within_one_tick(clock):
    """Order of use decides, not the time on the clock: with the clock standing still the one just read stays."""
    cache = Cache(3, clock_s=clock)
    for key in "abc":
        cache.set(key, key)
    cache.get("a")
    cache.set("d", "d")
    assert kept(cache) == ["a", "c", "d"]
    cache.get("c")
    cache.set("e", "e")

    assert kept(cache) == ["c", "d", "e"]


def test_clear_forgets_everything(clock):
    """After clearing nothing is left."""
    cache = Cache(10, ttl_s=5, clock_s=clock)
    for index in range(6):
        cache.set(index, index)
    cache.clear()
    assert (len(cache), cache.get(5)) == (0, None)


def test_stats_count_what_happened(clock):
    """Hits, misses, evictions and expirations are counted as they happen."""
    cache = Cache(1, ttl_s=5, clock_s=clock)
    cache.set("a", 1)
    cache.set("b", 2)
    cache.get("a")
    cache.get("b")
    clock.now_s = 9
    cache.get("b")

    assert cache.stats() == CacheStats(entries=0, hits=1, misses=2, evictions=1, expirations=1)


def test_behaves_as_a_slow_and_obvious_cache_does(clock):
    """10,000 random steps give what a list searched from end to end gives, and the bookkeeping stays small."""
    rng = random.Random(37)
    cache = Cache(5, ttl_s=8, clock_s=clock)
    model: list[tuple[str, int, float]] = []  # least recently used first
    for step in range(10_000):
        clock.now_s += rng.choice([0, 0, 1])
        key = rng.choice("abcdefgh")
        old = next((entry for entry in model if entry[0] == key), None)
        if rng.random() < 0.5:
            ttl = rng.choice([None, 0, 1, 30, math.inf])
            model = [entry for entry in model if entry[0] != key]
            good_for = 8 if ttl is None else ttl
            if good_for:
                if len(model) >= 5:
                    model = [entry for entry in model if entry[2] > clock.now_s][-5:]
                model = [*model[-4:], (key, step, clock.now_s + good_for)]
            cache.set(key, step, ttl_s=ttl)
        else:
            live = old is not None and old[2] > clock.now_s
            assert cache.get(key) == (old[1] if live else None)
            model = [entry for entry in model if entry[0] != key] + ([old] if live else [])
        assert len(cache) <= 5
        assert len(cache._times) <= 2 * 5 + 65


@pytest.mark.parametrize("wrong", [{"entries_max": -1}, {"ttl_s": -1}, {"ttl_s": math.nan}])
def test_impossible_settings_are_refused(wrong):
    """Negative sizes and times raise SettingError."""
    with pytest.raises(SettingError):
        Cache(**wrong)


def test_a_cache_of_nothing_keeps_nothing(clock):
    """With room for no entries every get is a miss."""
    cache = Cache(0, clock_s=clock)
    cache.set("a", 1)
    assert cache.get("a") is None
