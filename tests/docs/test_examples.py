"""The recorded session of examples/ is what it claims to be."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import splintr

import plimsoll

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TEXT = (EXAMPLES / "conversation.json").read_text(encoding="utf-8")
MESSAGES = json.loads(TEXT)


@pytest.mark.slow
def test_size():
    """The recording is long enough to need compaction and small enough to be committed."""
    vocabulary = splintr.Tokenizer.from_pretrained("o200k_base")
    tokens = sum(len(vocabulary.encode(message["content"])) for message in MESSAGES)

    assert 60_000 <= tokens <= 110_000
    assert len(TEXT.encode()) <= 500_000


@pytest.mark.parametrize(
    "pattern",
    [
        *(r"/home/\w", r"/root/", r"/tmp/", r"/private/", r"\bin (?!0\.50s)\d+\.\d+s\b"),
        re.escape(f"{Path(__file__).parents[2]}/"),
        re.escape(f"{Path(__file__).parents[3]}/"),
    ],
)
def test_no_machine_in_it(pattern):
    """No place and no timing of the machine it was recorded on is in it."""
    assert re.findall(pattern, TEXT) == []


def test_calls_are_answered_in_order():
    """Each tool call is answered once, directly after the message that makes it."""
    for index, message in enumerate(MESSAGES):
        calls = [call["id"] for call in message.get("tool_calls", ())]
        answers = [answer["tool_call_id"] for answer in MESSAGES[index + 1 : index + 1 + len(calls)]]

        assert calls == answers


@pytest.mark.parametrize(
    "fact",
    [
        pytest.param(lambda m: m["role"] == "user" and "PLM-214" in m["content"], id="an English request"),
        pytest.param(lambda m: m["role"] == "user" and "要求" in m["content"], id="a Chinese request"),
        pytest.param(lambda m: len(m.get("tool_calls", ())) > 1, id="parallel calls"),
        pytest.param(lambda m: m["role"] == "tool" and "Traceback" in m["content"], id="a failing command"),
        pytest.param(lambda m: m["role"] == "tool" and len(m["content"]) > 40_000, id="an oversized result"),
    ],
)
def test_has_what_real_sessions_have(fact):
    """The recording has what makes real sessions hard."""
    assert any(fact(message) for message in MESSAGES)


def test_reads_the_same_file_again():
    """The recording reads at least one file more than once, with the same result."""
    results = [
        message["content"] for message in MESSAGES if message["role"] == "tool" and len(message["content"]) > 1_000
    ]

    assert len(set(results)) < len(results)


def test_the_readme_shows_what_comes_out():
    """README's figures and its excerpt of the summary are those of the recording; lines of dots leave out others."""
    readme = (EXAMPLES.parent / "README.md").read_text(encoding="utf-8")
    told = readme[readme.index("## What the model sees") :]
    shown = told[told.index("```") + 3 :].split("```")[0]
    fitted = plimsoll.fit(MESSAGES, max_tokens=2_500)
    summary = " ".join(fitted.messages[2]["content"].split())

    assert f"{len(MESSAGES)} messages and {plimsoll.count_tokens(MESSAGES):,} tokens" in told
    assert f"makes {len(fitted.messages)} messages" in told
    assert 2_400 < plimsoll.count_tokens(fitted.messages) <= 2_500
    assert f"the {len(MESSAGES) - 4} others" in told
    lines = [line for line in re.sub(r"\n  (?!\.\.\.)", " ", shown).split("\n") if line.strip(". ")]
    assert len(lines) > 12
    for line in lines[:-1]:  # the last one ends in a tag of this machine's
        assert line.removesuffix(" ...") in summary
