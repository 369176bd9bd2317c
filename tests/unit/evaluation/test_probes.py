"""What is asked of a conversation, and when an answer counts as held."""

from __future__ import annotations

import pytest

from plimsoll.api.evaluation.extract import PER_KIND_MAX, STATEMENTS_MAX, probes_of
from plimsoll.api.evaluation.matching import Haystack, words
from plimsoll.api.evaluation.values import Probe
from plimsoll.formats.registry import decode_all


def probes(messages):
    """The probes by kind."""
    found = {}
    for probe in probes_of(decode_all(messages)[1]):
        found.setdefault(probe.kind, []).append(probe)
    return found


def call(number, name, arguments, result):
    """A call and its result."""
    made = {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [made]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": result},
    ]


def test_kinds_of_an_agent_run():
    """Each kind is found once, with its answer."""
    found = probes(
        [
            {
                "role": "user",
                "content": "Please mend the failing login test in the web project.\n必须保留旧的接口名称，不要修改数据库。",
            },
            *call(1, "bash", '{"command": "pytest -q"}', "E  KeyError: 'token'\n1 short run"),
            *call(2, "search", '{"q": "login"}', "src/web/auth/login_view.py:12: def login"),
            *call(3, "edit", '{"file_path": "src/web/auth/login_view.py"}', "done"),
            {"role": "assistant", "content": "The cause is a missing header, because the proxy drops it."},
            *call(4, "bash", '{"command": "pytest -q"}', "12 passed without a failure"),
        ]
    )

    answers = {kind: [probe.answer for probe in of_kind] for kind, of_kind in found.items()}
    assert answers["request"] == ["Please mend the failing login test in the web project."]
    assert answers["constraint"] == ["必须保留旧的接口名称，不要修改数据库。"]
    assert answers["decision"] == ["The cause is a missing header, because the proxy drops it."]
    assert answers["file"] == ["src/web/auth/login_view.py"]
    assert answers["outcome"] == ["12 passed without a failure"]
    assert answers["error"] == ["E  KeyError: 'token'"]
    (value,) = found["value"]
    assert (value.answer, value.position, value.used_at) == ("src/web/auth/login_view.py", 4, 5)


def test_what_the_user_knew_is_no_value():
    """A value counts only if a tool was the first to say it."""
    found = probes(
        [
            {"role": "user", "content": "Look at order-4711."},
            *call(1, "a", "{}", "order-4711"),
            *call(2, "b", '"order-4711"', ""),
        ]
    )

    assert "value" not in found


@pytest.mark.parametrize("count", [1, 30, 200])
def test_few_of_each_kind(count):
    """A long conversation is asked no more than a bounded number of questions, spread over all of it."""
    talk = [
        {"role": "user", "content": f"In {1900 + n} the painter Ann{n} sold {n} red boats near Port{n}."}
        for n in range(count)
    ]
    run = [{"role": "user", "content": f"Now please rename thing number {n} as well."} for n in range(count)]
    found = probes(talk)["statement"], probes([*run, *call(1, "a", "{}", "")])["request"]

    assert len(found[0]) == min(count, STATEMENTS_MAX)
    assert len(found[1]) == min(count, PER_KIND_MAX)
    assert count == 1 or max(probe.position for probe in found[0]) >= count * 0.9 - 1


def held(answer, text, match="words"):
    """Whether the text holds the answer."""
    return Haystack([text]).holds(
        Probe(
            kind="request",
            question="",
            answer=answer,
            match=match,
            terms=tuple(dict.fromkeys(words(answer))),
            position=0,
        )
    )


@pytest.mark.parametrize(
    ("answer", "text", "match", "expected"),
    [
        ("rename the old table", "Then: rename the  OLD\ntable.", "words", True),
        ("rename the old user table today", "today: old user table, rename", "words", True),
        ("rename the old user table today", "rename the old " + "x " * 60 + "user table today", "words", False),
        ("abc-1", "abc-12", "exact", False),
        ("abc-1", 'say \\"abc-1\\"', "exact", True),
        ("/a/b/src/x.py", "in src/x.py", "path", True),
        ("/a/b/src/x.py", "in x.py", "path", False),
        ("临江剧场在南湾区", "地址：临江剧场在南湾区", "words", True),
        ("", "anything", "exact", False),
    ],
)
def test_held(answer, text, match, expected):
    """Answers are found across breaks, case and escapes, at the borders of words, and near each other."""
    assert held(answer, text, match) is expected
