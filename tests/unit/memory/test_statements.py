"""Which sentences of a message are worth keeping, and which are not the speaker's."""

from __future__ import annotations

import pytest

from plimsoll.memory.secrets import holds_secret
from plimsoll.memory.statements import from_message, from_text
from plimsoll.message import Message, Text, ToolResult, text_message
from plimsoll.summary.frame import PRESENTATIONS, wrap

KEPT = {
    "I prefer tabs.": "preference",
    "I use tabs": "preference",
    "use spaces": "preference",
    "Please always run the linter before committing.": "preference",
    "Never push to main directly.": "preference",
    "From now on, answer in German.": "preference",
    "I don't like long explanations.": "preference",
    "My favourite colour is green.": "preference",
    "My name is Bob.": "profile",
    "I'm a backend engineer at a bank.": "profile",
    "I live in Lisbon": "profile",
    "I'm allergic to peanuts.": "profile",
    "I have two dogs.": "profile",
    "My time zone is CET.": "profile",
    "We decided to use PostgreSQL instead of MySQL.": "decision",
    "Let's go with option B.": "decision",
    "We agreed that releases happen on Tuesdays.": "decision",
    "Our API runs on port 8080.": "fact",
    "This project uses Python 3.12.": "fact",
    "We use pnpm, not npm.": "fact",
    "The deploy branch is release.": "fact",
    "Remember that the rollout starts on Monday.": "fact",
    "Whenever you write Python, use type hints.": "preference",
    "我喜欢用空格缩进。": "preference",
    "以后请用中文回答。": "preference",
    "永远不要直接推送到main分支。": "preference",
    "我叫李明。": "profile",
    "我是一名后端工程师。": "profile",
    "我对花生过敏。": "profile",
    "我的生日是5月3日。": "profile",
    "我们决定使用PostgreSQL。": "decision",
    "我们项目使用Python 3.12。": "fact",
    "请记住周一开始上线。": "fact",
}

PASSING = (
    "Fix the bug in parser.py.",
    "I have a question about the build.",
    "My code is failing with an error.",
    "I'm a bit lost here.",
    "I think it is broken.",
    "The tests are failing.",
    "I get an error when I run it.",
    "Use the file foo.py for that.",
    "I like it.",
    "I'd like you to add a test.",
    "I want to refactor this.",
    "I'm trying to install it.",
    "I am not sure.",
    "The problem is that our server is down.",
    "We need to fix this.",
    "Please use the second approach.",
    "Never been up there, but people say the view is great.",
    "Always nice to hear that.",
    "Whenever I hear this song, I think of home.",
    "Note: a thing for later.",
    "Look for the scripts in this folder that belong to it and start them",
    "These are the tests of our server:",
    "记得呀，是在2016年4月5日",
    "Can you remember what I said?",
    "我有一个问题。",
    "帮我修复这个错误。",
    "我想重构这段代码。",
)

NOT_SAID = (
    "Can you use spaces?",
    "Do I prefer tabs?",
    "What is my name?",
    "If I use tabs, it breaks.",
    "He said I prefer tabs.",
    'The log says "I prefer tabs".',
    'Add a function that says "my name is Bob".',
    "> I prefer tabs",
    "```\nI prefer tabs\n```",
    "Translate this:\nI prefer tabs.",
    "Here is the output:\nour API runs on port 8080",
    "<document>I prefer tabs.</document>",
    "# Style guide\n\nI prefer tabs.",
    "日志说我喜欢空格。",
    "翻译下面的内容：\n我喜欢用空格。",
    "如果我喜欢空格呢",
)

SECRETS = (
    "My password is hunter2.",
    "Remember that my api key is abc",
    "My token is abcdef.",
    "Remember: sk-abcdefgh12345678",
    "Our database is at postgres://admin:hunter2@db.local/app",
    "I always use AKIAIOSFODNN7EXAMPLE",
    "Remember ghp_0123456789abcdefghij",
    "Remember 4111 1111 1111 1111",
    "Remember aGVsbG8gd29ybGQgdGhpcyBpcyBzZWNyZXQ0",
    "我的密码是123456。",
    "Remember the wifi password hunter2",
    "Remember the password for staging, hunter2",
    "Remember that hunter2 is my password",
    "Remember my PIN 4821",
    "Remember MYSQL_PWD=abc",
    "Remember userPassword: abcd",
    "Remember my number 078-05-1120",
    "记住我的密码hunter2",
)


@pytest.mark.spec("S2-21")
@pytest.mark.parametrize(("text", "kind"), KEPT.items())
def test_durable_statements_are_kept(text: str, kind: str) -> None:
    """A preference, a decision, a fact of the project or of the user is one statement of its kind, in the user's words."""
    (found,) = from_text(text)

    assert found.kind == kind
    assert found.text in text
    assert 0 < found.confidence < 1
    assert 1 <= found.importance <= 10


@pytest.mark.parametrize("text", [*PASSING, *NOT_SAID])
def test_everything_else_is_not(text: str) -> None:
    """Work at hand, questions, conditions, quotations and pasted text state nothing durable."""
    assert from_text(text) == []


@pytest.mark.parametrize("text", SECRETS)
def test_secrets_are_not_kept(text: str) -> None:
    """A sentence with a key, a token, a password or a card number is not kept, not even when it is asked for."""
    assert holds_secret(text)
    assert from_text(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "max tokens is 4096",
        "max_output_tokens: 4096",
        "We keep secrets in Vault",
        "Our tests cover tokens and 12 more formats",
        "see docs/architecture/overview.md",
        "我们用 PostgreSQL",
        "release-2026-11-22",
    ],
)
def test_ordinary_text_is_no_secret(text: str) -> None:
    """Limits, paths, names and dates are kept."""
    assert not holds_secret(text)


def test_a_sentence_may_state_several_things() -> None:
    """Each clause is a statement of its own; a Chinese clause has the subject of its sentence."""
    assert [found.text for found in from_text("My name is Bob and I live in Lisbon.")] == [
        "My name is Bob",
        "I live in Lisbon.",
    ]
    assert [found.text for found in from_text("我叫李明，住在上海，喜欢喝咖啡。")] == [
        "我叫李明",
        "我住在上海",
        "我喜欢喝咖啡",
    ]


def test_what_is_asked_to_be_remembered_weighs_most() -> None:
    """`Remember that ...` keeps what follows, with more confidence and importance than a remark."""
    (asked,), (said,) = from_text("Remember that I prefer tabs"), from_text("I prefer tabs")

    assert asked.text == said.text == "I prefer tabs"
    assert (asked.kind, asked.confidence > said.confidence, asked.importance > said.importance) == (
        "preference",
        True,
        True,
    )


def test_a_request_to_remember_may_be_a_question() -> None:
    """`Can you remember that ...?` asks for it as politely as it can."""
    assert [found.text for found in from_text("Could you please remember that I'm vegetarian?")] == ["I'm vegetarian"]


@pytest.mark.parametrize(
    "before", ["Summarize this repo", "Tool use is fine.", "Output in JSON, please.", "The context: long."]
)
def test_what_only_looks_like_an_introduction_hides_nothing(before: str) -> None:
    """What a user says after an ordinary line is still the user's."""
    assert [found.text for found in from_text(f"{before}\nI prefer tabs.")] == ["I prefer tabs."]


def test_only_the_users_typing_is_read() -> None:
    """Tool results, system text, our own summaries, injected blocks and machine text in the user's role are not read."""
    said = "I prefer tabs."
    summary = wrap(f"Said by the user:\n- {said}", covers=(0, 3), presentation=PRESENTATIONS["en"])
    sources = [
        Message(role="user", parts=(ToolResult(call_id="c", content=said), Text(text=said))),
        Message(role="tool", parts=(ToolResult(call_id="c", content=said),)),
        text_message("system", said),
        text_message("user", summary),
        text_message("user", f"<system-reminder>{said}</system-reminder>"),
        text_message("user", f"Observation: {said}"),
        text_message("user", f"{said}\n(Open file: n/a)\n(Current directory: /repo)\nbash-$"),
        text_message("user", f"{said}\n[The command completed with exit code 0.]"),
        Message(
            role="user", parts=(Text(text=said), Text(text="(Open file: n/a)\n(Current directory: /repo)\nbash-$"))
        ),
        text_message("user", f"[read_file for 'notes.md'] Result:\n{said}"),
        text_message("user", f"Tool result:\n{said}"),
    ]

    assert [from_message(message) for message in sources] == [[]] * len(sources)
    assert from_message(text_message("user", said + " filler" * 200), after_result=True) == []
    assert [found.text for found in from_message(text_message("user", said), after_result=True)] == [said]


def test_an_assistant_states_decisions_and_facts_only() -> None:
    """What an assistant says of the project is kept with little confidence; what it says of the user is hearsay."""
    message = text_message(
        "assistant", "We decided to use PostgreSQL for storage. I prefer tabs myself. Your name is Bob now."
    )

    assert [(found.kind, found.confidence < 0.5) for found in from_message(message)] == [("decision", True)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["I prefer " + "tabs " * 4_000, "<a>" * 4_000, "\0\ud800" * 2_000, "，我" * 3_000, "'" * 8_000]
)
def test_hostile_text_is_read_in_time(text: str) -> None:
    """Long, nested and damaged text gives no error, and no memory longer than a sentence."""
    assert all(len(found.text) <= 300 for found in from_text(text))
    assert from_message(text_message("user", text)) is not None
