"""Which messages of a dialogue are requests, shown word for word, and which tell something, shown short under their day."""

from __future__ import annotations

import pytest

from plimsoll.formats.registry import decode_all
from plimsoll.summary.excerpt import excerpt
from plimsoll.summary.labels import ENGLISH
from plimsoll.summary.ledger import Ledger, extend
from plimsoll.summary.ledger.requests import asks, insists, instruction_in
from plimsoll.summary.sections import requests


@pytest.mark.parametrize(
    ("text", "is_request"),
    [
        ("ok cool. I moved the fig to the bedroom then, it should get more light there by the window I think", False),
        ("We only have two channels. I changed my job in June, I should have done that years ago, it is great", False),
        ("ok, please move the fig to the bedroom list and keep the others where they are, thanks in advance", True),
        (
            "I moved the fig to the bedroom. Please only water it on Mondays and keep it out of the hot sun at noon",
            True,
        ),
    ],
)
def test_a_message_without_an_instruction_is_no_request(text: str, *, is_request: bool) -> None:
    """Words such as `should` and `only` tell of the speaker's life as well."""
    talk = ["Hello there", "Hi!", "I live in Leeds.", "Nice.", text, "I see."]
    wire = [{"role": ("user", "assistant")[at % 2], "content": said} for at, said in enumerate(talk)]
    ledger = extend(Ledger.empty(), decode_all(wire, "openai-chat")[1], 0)

    assert any(item.text == text for item in requests(ledger, ENGLISH, 4_000)) == is_request


def test_the_first_message_that_leaves_behind_the_start_is_no_goal() -> None:
    """Where the view shows how the session began, the message after it counts by what it says."""
    wire = [{"role": ("user", "assistant")[at % 2], "content": f"My cat number {at} is called Mo."} for at in range(6)]
    messages = decode_all(wire, "openai-chat")[1]

    assert [item.order[0] for item in requests(extend(Ledger.empty(), messages, 0), ENGLISH, 4_000)] == [0]
    assert requests(extend(Ledger.empty(), messages, 2), ENGLISH, 4_000) == []


@pytest.mark.parametrize(
    ("text", "is_request"),
    [
        ("今天老板把我的海报改了七遍还不满意", False),
        ("把我的海报改成蓝色的，再检查标题", True),
        ("我请组里的人吃了火锅", False),
        ("我们商量请个育儿嫂", False),
        ("请检查标题", True),
    ],
)
def test_what_was_changed_is_told_and_what_is_to_change_is_asked(text: str, *, is_request: bool) -> None:
    """The same verbs stand in both."""
    assert asks(text) == is_request


def test_a_request_is_never_cut_to_its_heading() -> None:
    """What stands in brackets in front of it says when, not what."""
    assert excerpt("[2023年4月29日]\n把我的海报改成蓝色的，再检查一遍标题里的字，还有下面的日期。", 24).startswith(
        "把我的海报"
    )


def test_what_somebody_gave_the_user_is_no_request() -> None:
    """The words for `give me` stand in both: what is asked for begins a clause, or follows whom it is asked of."""
    assert [asks(text) for text in ("老板说要给我发奖金", "给我看看海报", "好的，给我看看海报", "你给我看看")] == [
        False,
        True,
        True,
        True,
    ]


@pytest.mark.parametrize(
    ("text", "is_instruction"),
    [
        ("Only when I walk uphill or take stairs.", False),
        ("But only 17 to 20.", False),
        ("Now he offers a thousand if I leave by January.", False),
        ("Book-wise I took the small one, free until June.", False),
        ("Only if the tests pass, push.", True),
        ("Only reply in French.", True),
        ("Now I want the report without the table.", True),
        ("Book the small one, but not until June.", True),
    ],
)
def test_what_an_answer_limits_is_no_instruction(text: str, *, is_instruction: bool) -> None:
    """`only`, `now` and `book` begin orders and answers: what follows tells which."""
    assert bool(instruction_in(text)) == is_instruction


@pytest.mark.parametrize(
    ("clause", "is_order"),
    [
        ("Never push to main", True),
        ("Always feed the cat first", True),
        ("Never.", False),
        ("never got an answer to it", False),
        ("Always worked nights there", False),
        ("最多三个标题", True),
        ("最多到45就卡住", False),
    ],
)
def test_what_never_was_is_no_order(clause: str, *, is_order: bool) -> None:
    """The same words begin orders and answers; an order goes on with what is to be done."""
    assert bool(instruction_in(clause)) == is_order


@pytest.mark.parametrize(
    ("told", "asked"),
    [
        ("请假三天", "请假设端口空闲"),
        ("请客吃饭", "请客户端先登录"),
        ("请了两天假", "请了解这个模块"),
        ("已经请过他们了", "请过滤重复的行"),
        ("请个阿姨帮忙", "请个别处理"),
        ("请人打扫", "请人工核对"),
    ],
)
def test_words_that_begin_like_those_of_hiring_and_leave_are_requests(told: str, asked: str) -> None:
    """The next character decides whether somebody asks for leave, treats guests or hires, or asks the reader."""
    assert not asks(told)
    assert asks(asked)


@pytest.mark.parametrize(
    "text",
    [
        "Never shred the drafts.",
        "Never unnamed columns in a table.",
        "Never inlined styles, please.",
        "Always signed tags on releases.",
    ],
)
def test_a_word_in_ed_in_an_order_says_how_things_are(text: str) -> None:
    """In front of several things; and a few infinitives end so."""
    assert insists(text)


@pytest.mark.parametrize(
    "text",
    [
        "Never loved cats.",
        "Always wanted to try it.",
        "You never answered mails.",
        "never painted it",
        "Never heard of it.",
        "Never complained afterwards.",
    ],
)
def test_what_was_never_done_is_told(text: str) -> None:
    """By the past of a verb."""
    assert not insists(text)
