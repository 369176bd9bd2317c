"""Filters of a search: who, with which tool, before or after what."""

import pytest

import plimsoll
from plimsoll.errors import SettingError
from plimsoll.recall.filters import filters_of
from plimsoll.recall.segment import Entry

FILLER = "The weather was calm and the crew painted the railing all afternoon. "


def entry(position=5, voice="user", day=0):
    """An entry of a message."""
    return Entry(position, 0, 0, "x", "m5.0-00000000", voice, 0, position, frozenset(), day)


@pytest.mark.parametrize(
    ("given", "admitted", "refused"),
    [
        ({"role": "user"}, entry(voice="user"), entry(voice="assistant")),
        ({"role": "assistant"}, entry(voice="assistant thinking"), entry(voice="tool result bash")),
        ({"role": "assistant"}, entry(voice="tool call bash"), entry(voice="user")),
        ({"role": "tool"}, entry(voice="tool result bash"), entry(voice="tool call bash")),
        ({"role": "summary"}, entry(voice="summary"), entry(voice="system")),
        ({"tool": "bash"}, entry(voice="tool call bash"), entry(voice="tool call bash2")),
        ({"before": "m5"}, entry(4), entry(5)),
        ({"after": 5}, entry(6), entry(5)),
        ({"before": "2023-05-02"}, entry(day=738641), entry(day=738642)),
        ({"after": "2023-05-02"}, entry(day=738642), entry(day=738641)),
        ({"before": "2023-05-02"}, entry(day=1), entry(day=0)),
        ({"after": "2023-05-02"}, entry(day=738642), entry(day=0)),
        ({"after": "m2", "before": "m4"}, entry(3), entry(4)),
    ],
)
def test_what_a_filter_admits(given, admitted, refused):
    """Each filter admits what it names and nothing else; what has no day is neither before nor after one."""
    filters = filters_of(**given)

    assert filters.admits(admitted)
    assert not filters.admits(refused)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("role", "robot"),
        ("role", 1),
        ("tool", 1),
        ("before", "yesterday"),
        ("after", "2023-02-30"),
        ("before", 1.5),
        ("order", "worst"),
    ],
)
def test_filters_that_do_not_do(name, value):
    """A value that is no role, tool, message, day or order raises one clear error."""
    with plimsoll.open("s", store="memory:") as session, pytest.raises(SettingError, match=name):
        session.recall("x", **{name: value})


def test_a_session_is_searched_through_filters():
    """Hits are of the role and after the message that are asked for, best first or as they were said."""
    with plimsoll.open("s", store="memory:", max_tokens=1_500) as session:
        for number in range(30):
            role = ("user", "assistant")[number % 2]
            session.append(
                {"role": role, "content": f"Beacon {number} is red {'beacon ' * (number % 7)}. {FILLER * 3}"}
            )
        session.compact()
        users = session.recall("beacon", role="user", after="m4", before="m20")
        said = session.recall("beacon", role="user", after="m4", before="m20", order="said")

    assert users
    assert {hit.voice for hit in users} == {"user"}
    assert all(4 < hit.position < 20 for hit in users)
    assert [hit.position for hit in said] == sorted(hit.position for hit in users) != [hit.position for hit in users]
