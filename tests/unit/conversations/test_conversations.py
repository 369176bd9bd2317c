"""Conversations that are recognised by their messages: which is found, and what is sent."""

from __future__ import annotations

import threading
from itertools import pairwise
from typing import Any

import pytest

import plimsoll
from plimsoll.conversations.conversations import Conversations
from plimsoll.errors import StoreFull, StoreUnusable
from plimsoll.formats.overflow import Overflow

Wire = dict[str, Any]
WINDOW = 3_000


def said(role: str, text: str) -> Wire:
    """A message."""
    return {"role": role, "content": text}


def chat(messages: list[Wire], **fields: Any) -> Wire:
    """A request body."""
    return {"model": "gpt-4o", "messages": messages, **fields}


def turn(number: int, words: int = 120) -> list[Wire]:
    """A question and its answer, of about twice so many tokens."""
    return [
        said("user", f"question {number} " + "why " * words),
        said("assistant", f"answer {number} " + "so " * words),
    ]


def played(kept: Conversations, turns: int, *, system: str = "Be brief.", words: int = 120) -> list[Any]:
    """What is sent for each request of a conversation, in order."""
    held, sent = [said("system", system)], []
    for number in range(turns):
        question, answer = turn(number, words)
        held.append(question)
        prepared = kept.prepare(chat(list(held)))
        assert prepared.conversation is not None
        assert prepared.conversation.answered(answer, {"prompt_tokens": 0}) is None
        sent.append(prepared)
        held.append(answer)
    return sent


@pytest.fixture
def kept():
    """Conversations in memory, with a small budget."""
    with Conversations("memory:", max_tokens=WINDOW) as found:
        yield found


def test_a_request_that_fits_is_the_same_object(kept):
    """What fits is not even copied, and is of one session from request to request."""
    body = chat([said("user", "Hello.")])
    prepared = kept.prepare(body)
    assert prepared.body is body
    assert (prepared.changed, prepared.problem) == (False, None)
    assert 0 < prepared.tokens < prepared.budget_tokens == WINDOW
    sent = played(kept, 4)
    assert not any(one.changed for one in sent)
    assert len({one.conversation for one in sent}) == 1
    assert sent[0].conversation.session.history()[1] == turn(0)[0]


@pytest.mark.slow
def test_views_fit_and_keep_their_prefix(kept):
    """Past the budget a view is sent; between compactions each begins with the one before it."""
    sent = played(kept, 30)
    views = [one.body["messages"] for one in sent]
    assert sum(one.changed for one in sent) > 15
    assert max(plimsoll.count_tokens(view) for view in views) <= WINDOW
    compactions = len(sent[-1].conversation.session.compactions())
    breaks = sum(later[: len(view)] != view for view, later in pairwise(views))
    assert breaks == compactions
    assert 1 <= compactions <= 10


@pytest.mark.slow
def test_the_input_is_not_changed(kept):
    """The body that was given is as it was, also when another is sent."""
    held = [
        said("system", "Be brief."),
        *(message for number in range(20) for message in turn(number)),
        said("user", "?"),
    ]
    body = chat(held)
    before = repr(body)
    prepared = kept.prepare(body)
    assert prepared.changed
    assert list(prepared.body) == list(body)
    assert repr(body) == before


SYSTEM_A, SYSTEM_B = said("system", "You plan."), said("system", "You write code.")
QUESTION, ANSWER = said("user", "Mend the drawbridge."), said("assistant", "I look at the chains.")
NEXT = said("user", "And then?")


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        pytest.param([QUESTION], [QUESTION, ANSWER, NEXT], True, id="continued"),
        pytest.param([SYSTEM_A, QUESTION], [SYSTEM_A, QUESTION], True, id="asked again"),
        pytest.param([SYSTEM_A, QUESTION], [SYSTEM_B, QUESTION], False, id="another system text"),
        pytest.param(
            [SYSTEM_A, QUESTION, ANSWER, NEXT], [SYSTEM_B, QUESTION, ANSWER, NEXT], True, id="system text with the time"
        ),
        pytest.param([QUESTION, ANSWER, NEXT], [QUESTION, ANSWER, said("user", "Stop.")], True, id="edited at the end"),
        pytest.param(
            [QUESTION, ANSWER, NEXT, ANSWER, NEXT], [QUESTION, said("user", "x")], False, id="another way early on"
        ),
        pytest.param([QUESTION], [said("user", "Other.")], False, id="another question"),
        pytest.param(
            [QUESTION],
            [{"role": "user", "content": [{"type": "text", "text": QUESTION["content"]}], "name": None}, ANSWER, NEXT],
            True,
            id="written in another way",
        ),
    ],
)
def test_lists_are_recognised(kept, first, second, same):
    """A list belongs to the conversation that it continues or edits."""
    found = kept.prepare(chat(first)).conversation
    found.answered(ANSWER)
    assert (kept.find(second) is found) == same
    assert (kept.prepare(chat(second)).conversation is found) == same


def test_a_message_that_its_host_changed_later_is_not_taken_for_what_it_was(kept):
    """The next list is what it says, also where the object of the list before says something else by now."""
    question, answer = said("user", "Why?"), said("assistant", "The first answer.")
    kept.prepare(chat([question, answer, said("user", "And?")])).conversation.answered(said("assistant", "So."))
    first = dict(answer)
    answer["content"] = "CHANGED"
    sent = [question, first, said("user", "And?"), said("assistant", "So."), said("user", "Then?")]
    assert kept.prepare(chat(sent)).conversation.session.history() == sent


def test_equal_requests_at_the_same_time_are_conversations_of_their_own(kept):
    """What comes next goes to the one that was answered so."""
    found = [kept.prepare(chat([QUESTION])).conversation for _ in range(3)]
    assert len(set(found)) == 3
    for number, one in enumerate(found):
        one.answered(said("assistant", f"way {number}"))
    for number in (1, 0, 2):
        assert kept.find([QUESTION, said("assistant", f"way {number}"), NEXT]) is found[number]


def test_a_request_without_an_answer_is_let_go_of(kept):
    """After a failure the same list is of the same conversation."""
    found = kept.prepare(chat([QUESTION])).conversation
    found.released()
    assert kept.prepare(chat([QUESTION])).conversation is found


@pytest.mark.slow
def test_conversations_are_found_again_after_a_restart(tmp_path):
    """From the store, with the compactions: the view begins as the one before it."""
    with Conversations(tmp_path, max_tokens=WINDOW) as kept:
        sent = played(kept, 14)
        name = sent[-1].conversation.name
    assert sent[-1].changed
    held = [
        said("system", "Be brief."),
        *(message for number in range(14) for message in turn(number)),
        said("user", "?"),
    ]
    with Conversations(tmp_path, max_tokens=WINDOW) as kept:
        prepared = kept.prepare(chat(held))
        assert prepared.conversation.name == name
        before = sent[-1].body["messages"]
        assert prepared.body["messages"][: len(before)] == before


def test_a_session_has_the_beginning_of_the_first_request_as_its_title(tmp_path):
    """So that lists of sessions say which conversation is which. A title that somebody gave stays."""
    note = {"type": "text", "text": "<system-reminder>Be kind.</system-reminder>"}
    asked = {"type": "text", "text": "List the boats\nin the harbour"}
    bodies = {
        "openai-chat": chat([said("system", "Be brief."), said("user", "Mend the lamp")]),
        "anthropic": {"max_tokens": 100, "messages": [{"role": "user", "content": [note, asked]}]},
        "openai-responses": {"input": "Tie a knot"},
    }
    with Conversations(tmp_path) as kept:
        for format, body in bodies.items():
            assert kept.prepare(body, format=format).problem is None
    titles = {found.title: found.name for found in plimsoll.sessions(tmp_path)}
    assert set(titles) == {"Mend the lamp", "List the boats in the harbour", "Tie a knot"}
    plimsoll.open(titles["Mend the lamp"], store=tmp_path, title="Lamps").close()
    with Conversations(tmp_path) as kept:
        kept.prepare(bodies["openai-chat"])
    assert {found.title for found in plimsoll.sessions(tmp_path)} == {"Lamps", *titles} - {"Mend the lamp"}


def test_open_sessions_are_bounded(tmp_path):
    """Those used longest ago are closed, and opened again when they are needed."""
    with Conversations(tmp_path, open_max=2) as kept:
        found = []
        for number in range(5):
            found.append(kept.prepare(chat([said("user", f"task {number}")])).conversation)
            found[-1].answered(ANSWER)
            assert sum(one.is_open for one in kept) <= 3
        again = kept.prepare(chat([said("user", "task 0"), ANSWER, NEXT])).conversation
        assert again is found[0]
        assert len(again.session.history()) == 3


@pytest.mark.slow
@pytest.mark.parametrize("error", [StoreFull("/full"), StoreUnusable("/gone", reason="read-only")])
def test_a_store_that_fails_stops_no_request(kept, monkeypatch, error):
    """What fits goes as it is, what does not is fitted by itself, and the problem is told."""

    def fail(*_, **__):
        raise error

    monkeypatch.setattr("plimsoll.conversations.settings.open_session", fail)
    small, large = (
        chat([QUESTION]),
        chat([said("user", "x"), *(m for n in range(20) for m in turn(n)), said("user", "?")]),
    )
    assert kept.prepare(small).body is small
    prepared = kept.prepare(large)
    assert prepared.changed
    assert plimsoll.count_tokens(prepared.body["messages"]) <= WINDOW
    assert prepared.problem == str(error)
    assert prepared.conversation.answered(ANSWER) == str(error)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"messages": []},
        {"messages": "x"},
        {"messages": [3]},
        {"messages": [{"role": "user"}], "model": 7, "tools": 3},
        {"input": [{"role": "user", "type": ["message"], "content": "x"}]},
        {"input": [QUESTION], "previous_response_id": "resp_1"},
        {"messages": [{"role": "user", "content": "x", "deep": eval("[" * 80 + "]" * 80)}]},
    ],
)
def test_odd_bodies_go_as_they_are(kept, body):
    """Nothing is raised, and the provider says what is wrong."""
    prepared = kept.prepare(body)
    assert prepared.body is body
    if prepared.conversation:
        prepared.conversation.answered({"odd": object()}, usage="none")


APIS: dict[str, Any] = {
    "openai-chat": lambda held: {
        "model": "gpt-4o",
        "max_completion_tokens": 1_000,
        "messages": [said("system", "Hi."), *held],
    },
    "openai-responses": lambda held: {
        "model": "gpt-4o",
        "instructions": "Hi.",
        "max_output_tokens": 1_000,
        "input": held,
    },
    "anthropic": lambda held: {"model": "claude-sonnet-4-6", "system": "Hi.", "max_tokens": 1_000, "messages": held},
}


@pytest.mark.slow
@pytest.mark.parametrize("api", APIS)
def test_bodies_of_each_api(api):
    """The view takes the place of the messages, all else stays."""
    with Conversations("memory:", max_tokens=WINDOW) as kept:
        body = APIS[api]([*(message for number in range(20) for message in turn(number)), said("user", "?")])
        prepared = kept.prepare(body, format=api)
        assert prepared.changed
        assert prepared.conversation.session.format == api
        key = "input" if api == "openai-responses" else "messages"
        assert {k: v for k, v in prepared.body.items() if k != key} == {k: v for k, v in body.items() if k != key}
        assert plimsoll.validate(prepared.body[key], format=api) == []


def test_the_reply_is_reserved_of_the_models_window():
    """As the request asks for, else as the model needs."""
    with Conversations("memory:") as kept:
        reserved = [
            kept.prepare(chat([said("user", f"{field}")], **field)).budget_tokens
            for field in ({"max_tokens": 1_000}, {"max_completion_tokens": 8_000}, {})
        ]
    assert reserved == [127_000, 120_000, 128_000 - 16_384]


def test_a_request_found_too_long_is_compacted_harder(kept):
    """What the provider says counts from then on."""
    body = chat([*(message for number in range(8) for message in turn(number)), said("user", "?")])
    prepared = kept.prepare(body)
    assert not prepared.changed
    again = prepared.conversation.prepare(body, overflow=Overflow(window_tokens=1_500, counted_tokens=2_100))
    assert again.changed
    assert plimsoll.count_tokens(again.body["messages"]) <= 1_500
    third = prepared.conversation.prepare(body, overflow=Overflow())
    assert third.tokens < again.tokens


SECRET = "sk-ant-api03-" + "x7" * 20


def test_secrets_are_not_in_the_log_and_in_what_is_sent(tmp_path):
    """The model sees what its host says, the store does not."""
    held = [
        said("user", f"The key is {SECRET}; and with it canary-credential-1."),
        *turn(1, 500),
        *turn(2, 500),
        *turn(3, 800),
    ]
    body = chat([*held, said("user", f"Use {SECRET}.")])
    with Conversations(tmp_path, max_tokens=WINDOW) as kept:
        prepared = kept.prepare(body, credentials=["canary-credential-1"])
        assert prepared.changed
        assert SECRET in prepared.body["messages"][-1]["content"]
        assert "[secret " not in prepared.body["messages"][-1]["content"]
        prepared.conversation.answered(said("assistant", f"I used {SECRET}."))
    logged = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"[secret anthropic-key " in logged
    assert SECRET.encode() not in logged
    assert b"canary-credential-1" not in logged
    with Conversations(tmp_path, max_tokens=WINDOW) as kept:
        again = kept.prepare(body, credentials=["canary-credential-1"])
        assert again.conversation.name == prepared.conversation.name


def test_secrets_may_be_kept(tmp_path):
    """By an option."""
    with Conversations(tmp_path, redact=False) as kept:
        kept.prepare(chat([said("user", SECRET)]))
    assert any(SECRET.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_threads(kept):
    """Many conversations at once, each whole in the end."""
    problems: list[object] = []

    def run(number: int) -> None:
        try:
            played(kept, 6, system=f"You are agent {number}.", words=20)
        except BaseException as error:  # noqa: BLE001 - told below
            problems.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert sorted(len(one.session.history()) for one in kept) == [13] * 4


def test_a_host_may_name_its_session(kept):
    """The name goes before what the list looks like; a name that is none is told and stops nothing."""
    found = kept.prepare(chat([QUESTION]), name="bridge").conversation
    assert found.session.name == "bridge"
    assert kept.prepare(chat([NEXT]), name="bridge").conversation is found
    prepared = kept.prepare(chat([QUESTION]), name="../etc")
    assert "etc" in prepared.problem
    assert prepared.conversation is None


def test_a_name_used_with_two_apis_is_two_sessions(kept):
    """Each list is read as what it is."""
    call = {"type": "tool_use", "id": "t", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "found"}
    first = kept.prepare(chat([QUESTION]), name="bridge", format="openai-chat").conversation
    asked = {"model": "claude-sonnet-4-6", "max_tokens": 9, "messages": [QUESTION, said("assistant", "x"), NEXT]}
    asked["messages"][1:] = [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    second = kept.prepare(asked, name="bridge", format="anthropic").conversation
    assert second.format == second.session.format == "anthropic"
    assert second.session.history() == asked["messages"]
    assert kept.prepare(asked, name="bridge", format="anthropic").conversation is second
    assert kept.prepare(chat([QUESTION]), name="bridge", format="openai-chat").conversation is first


def test_the_summarizer_writes_the_summaries_of_a_host_that_sends_its_whole_list():
    """The option `summarizer` of conversations, which proxy, adapters and wrapped clients pass on, has an effect."""
    asked: list[plimsoll.SummaryRequest] = []

    def summarizer(request: plimsoll.SummaryRequest) -> str:
        asked.append(request)
        return "Many questions were asked and answered."

    with Conversations("memory:", max_tokens=WINDOW, summarizer=summarizer) as kept:
        sent = played(kept, 30)

    assert asked
    assert "Many questions were asked and answered." in str(sent[-1].body["messages"])
