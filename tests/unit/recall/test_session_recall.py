"""Recall in a session: what left its view is found and read back."""

import re

import pytest

import plimsoll
from plimsoll.compaction.references import name_of
from plimsoll.errors import SettingError
from plimsoll.policy.policy import policy_named
from plimsoll.tokens.counter import counter_for

FILLER = "The weather in the harbour was calm and the crew painted the railing green. "


@pytest.fixture
def session():
    """A session whose beginning has left the view."""
    with plimsoll.open("s", store="memory:", max_tokens=4_000, recall_tools=True) as session:
        session.append({"role": "user", "content": "Watch the harbour."})
        session.append(
            {"role": "assistant", "content": "The beacon of Pier Nine blinks every 17 seconds. " + FILLER * 2}
        )
        for number in range(80):
            session.append({"role": ("user", "assistant")[number % 2], "content": f"Watch {number}. {FILLER * 8}"})
            session.view()
        yield session


@pytest.mark.slow
def test_what_left_the_view_is_found_and_read_back(session):
    """A hit is in the part that its reference reads back, whole."""
    hit = session.recall("how often does the beacon blink")[0]

    assert hit.position == 1
    assert "17 seconds" in hit.text
    assert hit.text in session.read(hit.reference)
    assert session.read(hit.reference) == session.history()[1]["content"]


@pytest.mark.slow
def test_what_the_view_shows_is_not_found(session):
    """The newest message, which the view shows, is no hit until it leaves."""
    session.append({"role": "user", "content": "The gangway is closed, says the harbourmaster."})

    assert session.recall("gangway harbourmaster") == []
    for number in range(40):
        session.append({"role": ("assistant", "user")[number % 2], "content": f"Later {number}. {FILLER * 8}"})
        session.view()
    assert "gangway" in session.recall("gangway harbourmaster")[0].text


def test_a_result_cut_on_arrival_is_found_whole():
    """Text that was cut out of a tool result is searched, though its beginning is in the view."""
    log = "".join(f"line {number}: all quiet\n" for number in range(3_000))
    with plimsoll.open("s", store="memory:", max_tokens=8_000) as session:
        call = {"id": "a", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
        session.append({"role": "user", "content": "Run it."})
        session.append({"role": "assistant", "content": None, "tool_calls": [call]})
        session.append({"role": "tool", "tool_call_id": "a", "content": f"{log}mizzen: torn\n{log}"})
        assert "mizzen" not in str(session.view())

        hit = session.recall("mizzen")[0]

        assert "mizzen: torn" in hit.text
        assert hit.voice == "tool result bash"


@pytest.mark.slow
def test_rolling_back_shows_again_what_was_found(session):
    """After a rollback the view shows the message, and recall no longer returns it."""
    while any(not one.undone for one in session.compactions()):
        session.rollback()

    assert session.recall("beacon blink") == []


@pytest.mark.slow
@pytest.mark.parametrize("reopened", [False, True])
def test_a_session_that_is_opened_again_finds_the_same(tmp_path, reopened):
    """Hits do not depend on when the index was built from the log."""
    session = plimsoll.open("s", store=tmp_path, max_tokens=4_000)
    session.append({"role": "user", "content": "Watch the harbour."})
    session.append({"role": "assistant", "content": "The beacon blinks every 17 seconds."})
    first = session.recall("beacon") if not reopened else []
    for number in range(60):
        session.append({"role": ("user", "assistant")[number % 2], "content": f"Watch {number}. {FILLER * 8}"})
        session.view()
    if reopened:
        session.close()
        session = plimsoll.open("s", store=tmp_path)

    assert first == []
    found = [(hit.position, hit.text) for hit in session.recall("beacon blinks", max_tokens=50)]
    assert found[0] == (1, "The beacon blinks every 17 seconds.")
    session.close()


@pytest.mark.slow
@pytest.mark.parametrize(("query", "max_tokens"), [(None, 100), (7, 100), ("x", -1), ("x", 1.5), ("x", None)])
def test_impossible_questions_are_refused(session, query, max_tokens):
    """A query that is not a str, or an invalid number of tokens, raises SettingError."""
    with pytest.raises(SettingError):
        session.recall(query, max_tokens=max_tokens)


@pytest.mark.slow
def test_answers_of_tools_stay_whole_in_the_view(session):
    """A result of a recall tool is not cut when it is appended, so no result has to be read back by another."""
    reference = session.recall("beacon blink")[0].reference
    for name, arguments in (("recall", {"query": "watch harbour weather"}), ("read", {"reference": reference})):
        answer = session.call_tool(name, arguments)
        call = {"id": name, "type": "function", "function": {"name": name, "arguments": "{}"}}
        session.extend([
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": name, "content": answer},
        ])  # fmt: skip

        assert session.view()[-1]["content"] == answer


def test_answers_keep_within_the_policys_limit_for_results():
    """If a policy cuts results on arrival, a recall result is smaller than that from the start."""
    policy = policy_named("ladder", tool_result_tokens_max=150)
    text = "".join(f"row {number}\n" for number in range(2_000))
    with plimsoll.open("s", store="memory:", max_tokens=50_000, policy=policy) as session:
        session.append({"role": "user", "content": text})
        answer = session.call_tool("read", {"reference": name_of(0, 0, text)})

    assert 100 < counter_for("gpt-4o").upper(answer) <= 150


def test_reading_a_long_result_by_pages(tmp_path):
    """A result larger than the limit is read back page by page, byte for byte."""
    text = "".join(f"row {number}\t{number * number}\n" for number in range(6_000))
    with plimsoll.open("s", store=tmp_path, max_tokens=8_000) as session:
        session.append({"role": "user", "content": text})
        reference = name_of(0, 0, text)
        pages, offset, limit = [], 0, counter_for("gpt-4o")
        while offset < len(text):
            answer = session.call_tool("read", {"reference": reference, "offset": offset})
            assert limit.count(answer) <= 2_000
            pages.append(answer.partition("\n")[2])
            offset += len(pages[-1])

    assert "".join(pages) == text


@pytest.mark.slow
def test_summaries_name_the_tool_when_the_model_has_it(session):
    """With `recall_tools` the frame of a summary says that the rest can be searched; without, it does not."""
    named = [m["content"] for m in session.view() if "Summary of messages" in str(m["content"])]
    with plimsoll.open("plain", store="memory:", max_tokens=4_000) as plain:
        plain.extend(session.history())
        unnamed = [m["content"] for m in plain.view() if "Summary of messages" in str(m["content"])]

    assert named
    assert "can be found with the recall tool" in named[0]
    assert unnamed
    assert "recall tool" not in unnamed[0]


@pytest.mark.slow
def test_recall_tools_are_remembered_and_counted(tmp_path):
    """The option is stored with the session, and the definitions count against the budget."""
    messages = [{"role": ("user", "assistant")[n % 2], "content": f"Watch {n}. {FILLER * 8}"} for n in range(60)]
    plimsoll.open("s", store=tmp_path, max_tokens=4_000, recall_tools=True).close()
    with plimsoll.open("s", store=tmp_path) as session:
        session.extend(messages)
        view, tools = session.view(), session.tools()

        assert re.search("recall tool", str(view))
        assert plimsoll.count_tokens(view, tools=tools) <= 4_000
        cost = plimsoll.count_tokens([], tools=tools) - plimsoll.count_tokens([])
        assert session.status().max_tokens == 4_000 - cost < 4_000


@pytest.mark.parametrize("value", ["yes", 1, 0])
def test_recall_tools_is_yes_or_no(value):
    """Values other than True and False are refused."""
    with pytest.raises(SettingError, match="recall_tools"):
        plimsoll.open("s", store="memory:", recall_tools=value)
