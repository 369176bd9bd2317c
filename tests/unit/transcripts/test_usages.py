"""What session files say their providers counted: read per answer, the same numbers as in the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from plimsoll.records.usage import usage_of
from plimsoll.transcripts.detect import load_file
from plimsoll.transcripts.values import Transcript

SESSIONS = Path(__file__).parents[3].parent / "shared" / "evals" / "sessions"
FILES = sorted(SESSIONS.glob("*/*.jsonl"))


def lines_of(*values: dict[str, Any]) -> bytes:
    """A file of these lines."""
    return "".join(json.dumps(value) + "\n" for value in values).encode()


def read(*values: dict[str, Any]) -> Transcript:
    """The transcript in these lines."""
    found = load_file(lines_of(*values))
    assert isinstance(found, Transcript)
    return found


def claude_line(uuid: str, parent: str | None, role: str, content: Any, **more: Any) -> dict[str, Any]:
    """A line of Claude Code; `usage`, `id` and `model` go into the message."""
    inner = {key: more.pop(key) for key in ("usage", "id", "model") if key in more}
    message = {"role": role, "content": content, **inner}
    envelope = {"parentUuid": parent, "uuid": uuid, "sessionId": "s", "timestamp": f"2026-01-01T00:00:0{uuid[-1]}.000Z"}
    return {**envelope, "type": role, "message": message, **more}


def claude_usage(input: int, write: int, read: int, output: int) -> dict[str, int]:
    """Usage as Anthropic writes it."""
    return {
        "input_tokens": input,
        "cache_creation_input_tokens": write,
        "cache_read_input_tokens": read,
        "output_tokens": output,
    }


def codex_line(kind: str, at: int = 0, **payload: Any) -> dict[str, Any]:
    """A line of Codex."""
    return {"timestamp": f"2026-01-01T00:00:{at:02}.000Z", "type": kind, "payload": payload}


def codex_count(last: dict[str, int] | None, total: dict[str, int] | None = None, **info: int) -> dict[str, Any]:
    """A token_count event of Codex."""
    told = {"last_token_usage": last, "total_token_usage": total, **info}
    return codex_line("event_msg", type="token_count", info={key: value for key, value in told.items() if value})


def codex_usage(input: int, cached: int, output: int) -> dict[str, int]:
    """Usage as Codex writes it."""
    return {
        "input_tokens": input,
        "cached_input_tokens": cached,
        "output_tokens": output,
        "total_tokens": input + output,
    }


def codex_said(role: str, text: str) -> dict[str, Any]:
    """A message in a Codex file."""
    kind = "output_text" if role == "assistant" else "input_text"
    return codex_line("response_item", type="message", role=role, content=[{"type": kind, "text": text}])


META = codex_line("session_meta", id="x", timestamp="2026-01-01T00:00:00Z", cwd="/x", cli_version="0.1")


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 2}, (9, 2, 0, 0)),
        ({"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}, (9, 2, 4, 0)),
        ({"input_tokens": 9, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 4}}, (9, 2, 4, 0)),
        (claude_usage(1, 20, 300, 4), (321, 4, 300, 20)),
        (codex_usage(100, 60, 5), (100, 5, 60, 0)),
        ({"input": 1, "output": 4, "cacheRead": 300, "cacheWrite": 20, "totalTokens": 325}, (321, 4, 300, 20)),
    ],
)
def test_every_way_of_writing_usage_is_read(told: dict[str, Any], expected: tuple[int, ...]) -> None:
    """The prompt is the whole request, cached tokens included, whatever the provider calls its parts."""
    found = usage_of(told)
    assert found is not None
    assert (found.prompt_tokens, found.completion_tokens, found.cached_tokens, found.cache_write_tokens) == expected


@pytest.mark.parametrize(
    "told",
    [
        *(None, 5, [], {}, {"prompt_tokens": 1e9}, {"prompt_tokens": 10**40}, claude_usage(0, 0, 0, 9)),
        *({"input_tokens": value} for value in (0, -4, "9", True)),
    ],
)
def test_what_is_no_usage_is_none(told: Any) -> None:
    """Zeros, other types and impossible numbers are no report."""
    assert usage_of(told) is None


def test_claude_code_says_the_usage_of_an_answer_on_its_last_line() -> None:
    """An answer on several lines is one report; invented answers, and sub-agents' ones, are none of the conversation's."""
    found = read(
        claude_line("u1", None, "user", "hi"),
        claude_line("u2", "u1", "assistant", [{"type": "text", "text": "a"}], id="m", model="claude-x", usage=claude_usage(3, 5, 7, 1)),
        claude_line("u3", "u2", "assistant", [{"type": "text", "text": "b"}], id="m", model="claude-x", usage=claude_usage(3, 5, 7, 40)),
        claude_line("u4", "u3", "user", "more", isSidechain=False),
        claude_line("u5", "u4", "assistant", [{"type": "text", "text": "no"}], id="n", model="<synthetic>", usage=claude_usage(9, 9, 9, 9)),
        claude_line("u6", "u5", "assistant", [{"type": "text", "text": "x"}], id="o", usage=claude_usage(1, 1, 1, 1), isSidechain=True),
    )  # fmt: skip

    assert [(usage.id, usage.prompt_tokens, usage.completion_tokens) for usage in found.usages] == [("m1", 15, 40)]
    assert found.usage is not None
    assert (found.usage.model, found.usage.at_ms) == ("claude-x", 1767225603000)


def test_the_newest_request_is_one_of_the_conversation() -> None:
    """A branch that was left does not say how full the window is."""
    found = read(
        claude_line("u1", None, "user", "hi"),
        claude_line("u2", "u1", "assistant", "left", id="m", usage=claude_usage(900, 0, 0, 1)),
        claude_line("u3", "u1", "user", "again"),
        claude_line("u4", "u3", "assistant", "kept", id="n", usage=claude_usage(500, 0, 0, 1)),
        claude_line("u5", "u2", "assistant", "left too", id="o", usage=claude_usage(950, 0, 0, 1), timestamp="2025-01-01T00:00:00.000Z"),
    )  # fmt: skip

    assert len(found.usages) == 3
    assert found.usage is not None
    assert found.usage.prompt_tokens == 500


@pytest.mark.parametrize(
    ("prompts", "auto", "window"),
    [
        ([5_000], [], 200_000),
        ([199_000], [], 200_000),
        ([5_000], [171_646], 200_000),
        ([201_000], [], 1_000_000),
        ([5_000], [640_000], 1_000_000),
        ([400_000], [166_000], 200_000),
        ([400_000], [60_000], 1_000_000),
    ],
)
def test_the_window_of_claude_code_is_what_its_requests_show(prompts: list[int], auto: list[int], window: int) -> None:
    """200,000 unless more was sent since the tool last compacted by itself below that."""
    lines = [claude_line("u1", None, "user", "hi")]
    answers = (claude_usage(tokens, 0, 0, 1) for tokens in prompts)
    lines += [claude_line("u2", "u1", "assistant", "a", id="m", usage=usage) for usage in answers]
    for tokens in auto:
        metadata = {"trigger": "auto", "preTokens": tokens}
        boundary = {
            "type": "system",
            "subtype": "compact_boundary",
            "uuid": "u3",
            "parentUuid": None,
            "compactMetadata": metadata,
        }
        lines += [{**boundary, "logicalParentUuid": "u2", "timestamp": "2026-01-01T00:00:03.000Z"}]
        lines.append(claude_line("u4", "u3", "user", "summary", isCompactSummary=True))

    assert read(*lines).window_tokens == window


def test_codex_repeats_its_counts_and_each_is_one_report() -> None:
    """Counts are of the answer before them; a null, a repetition and the tool's own estimate after a compaction are none."""
    call = codex_line("response_item", type="function_call", name="f", arguments="{}", call_id="c")
    output = codex_line("response_item", type="function_call_output", call_id="c", output="x")
    found = read(
        META,
        codex_line("event_msg", type="task_started", model_context_window=258_400),
        codex_line("turn_context", model="gpt-5.3-codex"),
        codex_said("user", "hi"),
        codex_line("event_msg", type="token_count", info=None),
        codex_said("assistant", "on it"),
        call,
        codex_count(codex_usage(17_203, 3_456, 358), codex_usage(17_203, 3_456, 358), model_context_window=272_000),
        output,
        codex_count(codex_usage(17_203, 3_456, 358), codex_usage(17_203, 3_456, 358), model_context_window=272_000),
        codex_said("assistant", "done"),
        codex_count(codex_usage(19_243, 17_000, 239), codex_usage(36_446, 20_456, 597), model_context_window=272_000),
        codex_count({**codex_usage(0, 0, 0), "total_tokens": 4_000}, codex_usage(36_446, 20_456, 597), model_context_window=272_000),
    )  # fmt: skip

    assert [(usage.id, usage.prompt_tokens, usage.completion_tokens) for usage in found.usages] == [
        ("m1", 17_203, 358),
        ("m4", 19_243, 239),
    ]
    assert [usage.cached_tokens for usage in found.usages] == [3_456, 17_000]
    assert {usage.model for usage in found.usages} == {"gpt-5.3-codex"}
    assert found.window_tokens == 272_000


def test_codex_files_with_running_totals_alone_give_differences() -> None:
    """Early files have no newest usage: it is what the totals grew by."""
    found = read(
        META,
        codex_said("user", "hi"),
        codex_said("assistant", "one"),
        codex_count(None, codex_usage(1_000, 100, 10)),
        codex_said("user", "go on"),
        codex_said("assistant", "two"),
        codex_count(None, codex_usage(2_500, 300, 25)),
    )

    assert [(usage.prompt_tokens, usage.completion_tokens) for usage in found.usages] == [(1_000, 10), (1_500, 15)]


def test_counts_without_an_answer_and_odd_ones_are_passed_over() -> None:
    """A damaged event costs itself and nothing else."""
    odd: list[Any] = [5, "x", [], {"last_token_usage": 5}, {"last_token_usage": {"input_tokens": "9"}}]
    found = read(
        META,
        codex_count(codex_usage(5, 0, 1)),
        codex_said("user", "hi"),
        *(codex_line("event_msg", type="token_count", info=info) for info in odd),
        codex_said("assistant", "one"),
        codex_count(codex_usage(70, 0, 1)),
    )

    assert [usage.prompt_tokens for usage in found.usages] == [70]


def test_pi_counts_cached_tokens_apart() -> None:
    """Input, cache reads and cache writes together are the request; aborted answers with zeros are none."""

    def entry(id: str, parent: str | None, **message: Any) -> dict[str, Any]:
        return {
            "type": "message",
            "id": id,
            "parentId": parent,
            "timestamp": "2026-01-01T00:00:01.000Z",
            "message": message,
        }

    usage = {"input": 7, "output": 231, "cacheRead": 1_684, "cacheWrite": 9_518, "totalTokens": 11_440, "cost": {}}
    zeros = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "totalTokens"), 0)
    text = [{"type": "text", "text": "a"}]
    found = read(
        {"type": "session", "version": 3, "id": "x", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/x"},
        entry("a", None, role="user", content="hi"),
        entry("b", "a", role="assistant", content=text, model="m", usage=usage, stopReason="stop"),
        entry("c", "b", role="assistant", content=text, model="m", usage=zeros, stopReason="aborted"),
    )

    assert [(one.id, one.prompt_tokens, one.total_tokens, one.model) for one in found.usages] == [
        ("m1", 11_209, 11_440, "m")
    ]


def _told(path: Path) -> list[tuple[int, int]]:
    """Every different report in a file, as its lines say it: request and answer."""
    found: dict[str, tuple[int, int]] = {}
    for number, raw in enumerate(path.read_bytes().splitlines()):
        try:
            value = json.loads(raw)
        except ValueError:
            continue
        message, payload = value.get("message") or {}, value.get("payload") or {}
        if payload.get("type") == "token_count" and payload.get("info"):
            last = payload["info"]["last_token_usage"]
            found[json.dumps(payload["info"], sort_keys=True)] = (last["input_tokens"], last["output_tokens"])
        if isinstance(message, dict) and (usage := message.get("usage")) and not value.get("isSidechain"):
            cached = ("cache_creation_input_tokens", "cache_read_input_tokens", "cacheRead", "cacheWrite")
            prompt = sum(usage.get(name) or 0 for name in ("input_tokens", "input", *cached))
            found[message.get("id") or f"line {number}"] = (prompt, usage.get("output_tokens", usage.get("output")))
    return [(prompt, completion) for prompt, completion in found.values() if prompt > 0]


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem[:40])
def test_recorded_usage_equals_the_files(path: Path) -> None:
    """Every report in a real file is read, in its order, with the file's own numbers."""
    found = load_file(path.read_bytes())
    assert isinstance(found, Transcript)
    assert [(usage.prompt_tokens, usage.completion_tokens) for usage in found.usages] == _told(path)
    assert all(
        found.messages[usage.position or 0].wire.get("role", "assistant") == "assistant" for usage in found.usages
    )


def test_real_files_are_there() -> None:
    """The test above says when it had nothing to look at."""
    if not FILES:
        pytest.skip("no ../shared/evals/sessions beside the checkout")
