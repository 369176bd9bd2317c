"""Which statements say the same, and which contradict each other."""

from __future__ import annotations

import pytest

from plimsoll.limits import MEMORIES_MAX
from plimsoll.memory.meaning import contradicts, meaning_of, says_same

SAME = (
    ("I prefer tabs.", "I use tabs"),
    ("use tabs", "I prefer tabs."),
    ("My name is Bob.", "my name's Bob"),
    ("I live in Lisbon", "I'm based in Lisbon"),
    ("Always use type hints", "please always use type hints."),
    ("我喜欢用空格缩进", "请用空格缩进"),
)

CONTRARY = (
    ("I use tabs", "use spaces"),
    ("I prefer tabs.", "Use spaces instead of tabs."),
    ("I use tabs for indentation", "I switched to spaces"),
    ("My name is Bob.", "My name is Max"),
    ("I live in Berlin", "I moved to Munich last month."),
    ("Our API runs on port 8080.", "Our API now runs on port 9090."),
    ("I like coffee", "I don't like coffee anymore"),
    ("Keep functions under 60 lines", "Keep functions under 40 lines"),
    ("The deploy branch is main", "The deploy branch is now release"),
    ("We use npm", "We use pnpm, not npm."),
    ("We decided to use Kafka", "We decided to use RabbitMQ instead of Kafka."),
    ("I prefer dark mode", "I prefer light mode"),
    ("My favourite colour is green", "My favourite colour is blue"),
    ("Reply in French please.", "From now on, answer in German"),
    ("always use semicolons", "never use semicolons"),
    ("I work at Initech", "I work for Globex now"),
    ("I'm 34", "I am 35 years old"),
    ("I prefer Postman for requests", "I prefer curl for requests"),
    ("We use Redis", "We no longer use Redis"),
    ("我喜欢用空格缩进", "改用制表符缩进"),
    ("我住在上海", "我搬到北京了"),
    ("我叫李明", "我叫王芳"),
    ("我喜欢喝咖啡", "我不喜欢喝咖啡"),
    ("请用中文回答", "以后用英文回答"),
)

UNRELATED = (
    ("I use tabs", "I use vim"),
    ("I like tea", "I like dogs"),
    ("I drink coffee", "I like tea"),
    ("We use Postgres", "We use Redis"),
    ("I have two dogs", "I have a cat"),
    ("My wife is Anna", "My son is Max"),
    ("I live in Berlin", "I work in Berlin"),
    ("I prefer tabs for Go", "I prefer spaces for Python"),
    ("Our API is fast", "Our API is public"),
    ("never use eval", "always use type hints"),
    ("My name is Bob", "My dog's name is Rex"),
    ("Our frontend runs on port 3000", "Our backend runs on port 8080"),
    ("I like short films", "I like long walks"),
    ("harbour number 1 is open", "harbour number 2 is open"),
    ("Sprint 12 starts on Monday", "Sprint 13 starts on Monday"),
    ("我喜欢喝咖啡", "我喜欢猫"),
)


@pytest.mark.parametrize(("one", "other"), SAME)
def test_other_words_for_the_same(one: str, other: str) -> None:
    """Filler words and the verb of choosing make no difference."""
    assert says_same(meaning_of(one), meaning_of(other))
    assert not contradicts(meaning_of(one), meaning_of(other))


@pytest.mark.parametrize(("one", "other"), CONTRARY)
def test_contradictions(one: str, other: str) -> None:
    """Another value, the opposite, or the rejected one cannot hold at the same time, whichever was said first."""
    assert contradicts(meaning_of(one), meaning_of(other))
    assert contradicts(meaning_of(other), meaning_of(one))
    assert not says_same(meaning_of(one), meaning_of(other))


@pytest.mark.parametrize(("one", "other"), UNRELATED)
def test_both_may_hold(one: str, other: str) -> None:
    """Statements about different things stand beside each other."""
    assert not contradicts(meaning_of(one), meaning_of(other))
    assert not says_same(meaning_of(one), meaning_of(other))


def test_all_memories_that_are_compared_are_cached():
    """A new memory is compared with all of two full scopes: a cache that holds fewer would hold none when they come again."""
    assert meaning_of.cache_parameters()["maxsize"] > 2 * MEMORIES_MAX
