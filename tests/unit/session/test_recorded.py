"""Sessions imported from other tools' files: what was counted there, the window they had, and their own compactions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import plimsoll
from plimsoll.session.transfer.import_file import import_file
from plimsoll.transcripts.detect import load_file
from plimsoll.transcripts.values import Transcript

FILES = sorted((Path(__file__).parents[3].parent / "shared" / "evals" / "sessions").glob("*/*.jsonl"))
WORDS = "the load line of a ship marks how deep she may lie in the water " * 30


def claude_file(*, unseen: int = 20_000, auto: int = 150_000) -> bytes:
    """A Claude Code file: four turns, an automatic compaction, two turns. The provider counts `unseen` beside the words."""
    lines: list[dict[str, Any]] = []
    context: list[str] = []

    def put(kind: str, uuid: str, parent: str | None, **more: Any) -> None:
        time = f"2026-01-01T00:00:{len(lines):02}.000Z"
        lines.append({"parentUuid": parent, "uuid": uuid, "sessionId": "s", "timestamp": time, "type": kind, **more})

    def turn(number: int, parent: str | None) -> str:
        text = f"turn {number}: {WORDS}"
        put("user", f"u{number}", parent, message={"role": "user", "content": text})
        context.append(text)
        size = unseen + sum(plimsoll.count_tokens(said, model="gpt-4o") for said in context)
        usage = {
            "input_tokens": 2,
            "cache_creation_input_tokens": 8,
            "cache_read_input_tokens": size - 10,
            "output_tokens": 9,
        }
        answer = {"role": "assistant", "id": f"a{number}", "model": "claude-opus-4-6", "usage": usage}
        put(
            "assistant",
            f"a{number}",
            f"u{number}",
            message={**answer, "content": [{"type": "text", "text": f"did {number}"}]},
        )
        context.append(f"did {number}")
        return f"a{number}"

    last = None
    for number in range(4):
        last = turn(number, last)
    put(
        "system",
        "b",
        None,
        subtype="compact_boundary",
        logicalParentUuid=last,
        compactMetadata={"trigger": "auto", "preTokens": auto},
    )
    context[:] = ["Summary of it all."]
    put("user", "s", "b", isCompactSummary=True, message={"role": "user", "content": context[0]})
    last = "s"
    for number in (4, 5):
        last = turn(number, last)
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def test_imported_sessions_count_as_the_provider_did() -> None:
    """The size of the view is the newest request as it was reported, with what is not in the file, and the newest answer."""
    found = load_file(claude_file())
    assert isinstance(found, Transcript)
    assert found.usage is not None
    with import_file(claude_file(), store="memory:") as session:
        status = session.status()

        assert found.usage.prompt_tokens < status.current_tokens < found.usage.prompt_tokens + 100
        assert status.unseen_tokens == pytest.approx(20_000, rel=0.05)
        assert [usage.prompt_tokens for usage in session.usage()] == [usage.prompt_tokens for usage in found.usages]
        assert [usage.id for usage in session.usage()] == ["m1", "m3", "m5", "m7", "m10", "m12"]
        assert session.messages()[-1].usage == session.usage()[-1]


def test_imported_sessions_have_the_window_of_their_tool() -> None:
    """A model of a larger window does not make it larger: the tool worked in 200,000, less what it keeps for the answer."""
    with import_file(claude_file(), store="memory:") as session:
        assert session.status().max_tokens == 180_000
    with import_file(claude_file(auto=640_000), store="memory:") as session:
        assert session.status().max_tokens == 980_000
    with import_file(claude_file(), store="memory:", max_tokens=50_000) as session:
        assert session.status().max_tokens == 50_000


def test_codex_files_without_a_window_have_the_usual_one() -> None:
    """A file that names neither window nor model is not held to the window of a model that nobody named."""
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": WORDS}]}
    rows = [
        {"type": "session_meta", "payload": {"id": "x", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/x"}},
        *({"type": "response_item", "payload": said} for _ in range(300)),
    ]
    with import_file("".join(json.dumps(row) + "\n" for row in rows).encode(), store="memory:") as session:
        assert session.status().max_tokens == 258_400
        assert session.status().level < 2


def test_compactions_of_the_tool_are_the_sessions(tmp_path: Path) -> None:
    """Each has its own time, trigger and sizes, says what left, and shows the view it led to, here and opened again."""
    with import_file(claude_file(), name="s", store=tmp_path):
        pass
    with plimsoll.open("s", store=tmp_path) as session:
        own, imported = session.compactions()

        assert (own.trigger, own.tokens_before, own.summary) == ("auto", 150_000, "Summary of it all.")
        assert own.actual_pre_tokens == 150_000
        assert own.at.isoformat() == "2026-01-01T00:00:08+00:00"
        assert own.tokens_after == session.usage()[4].prompt_tokens
        assert [(lost.first, lost.last, lost.decision) for lost in own.lost] == [(0, 7, "summarise")]
        assert session.view_after(own.id or "") == [{"role": "user", "content": "Summary of it all."}]
        assert (imported.trigger, imported.lost) == ("import", ())
        assert session.stats().compactions == 0


def test_the_tools_compaction_is_undone_by_its_id_only() -> None:
    """Without an id a rollback undoes what the session did itself; with the tool's, the view is again as before it."""
    with import_file(claude_file(), store="memory:", max_tokens=60_000) as session:
        view = session.view()
        with pytest.raises(plimsoll.errors.SettingError):
            session.rollback()
        tools = session.compactions()[0]
        session.rollback(tools.id)
        assert len(session.view()) == 13
        assert all(found.undone for found in session.compactions())
        session.reapply(session.compactions()[-1].id)
        assert session.view() == view


def test_results_that_a_tool_emptied_are_a_row_too() -> None:
    """A compaction that only emptied results says which, and shows them emptied."""
    call = {"type": "tool_use", "id": "c1", "name": "Read", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": WORDS}
    micro = {"trigger": "auto", "preTokens": 60_000, "tokensSaved": 400, "compactedToolIds": ["c1"]}
    rows = [
        {"type": "user", "uuid": "1", "parentUuid": None, "message": {"role": "user", "content": "read it"}},
        {
            "type": "assistant",
            "uuid": "2",
            "parentUuid": "1",
            "message": {"role": "assistant", "id": "a", "content": [call]},
        },
        {"type": "user", "uuid": "3", "parentUuid": "2", "message": {"role": "user", "content": [result]}},
        {
            "type": "system",
            "subtype": "microcompact_boundary",
            "uuid": "4",
            "parentUuid": "3",
            "microcompactMetadata": micro,
        },
        {"type": "user", "uuid": "5", "parentUuid": "4", "message": {"role": "user", "content": "go on"}},
    ]
    data = "".join(
        json.dumps({**row, "sessionId": "s", "timestamp": f"2026-01-01T00:00:0{place}.000Z"}) + "\n"
        for place, row in enumerate(rows)
    )
    with import_file(data.encode(), store="memory:") as session:
        emptied = session.compactions()[0]

        assert (emptied.tokens_before, emptied.tokens_after, emptied.lost) == (60_000, 59_600, ())
        assert [(action.decision, action.first) for action in emptied.actions] == [("shrink", 2)]
        assert WORDS not in json.dumps(session.view_after(emptied.id or ""))
        assert WORDS in json.dumps(session.history())


@pytest.mark.slow
@pytest.mark.skipif(not FILES, reason="the real session files are not beside the checkout")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem[:40])
def test_real_sessions_count_as_their_files_say(path: Path) -> None:
    """Every report of a real file is in its session; the view is as large as the newest request and what was said since."""
    found = load_file(path)
    assert isinstance(found, Transcript)
    with import_file(path, store="memory:", project=False) as session:
        assert [usage.prompt_tokens for usage in session.usage()] == [usage.prompt_tokens for usage in found.usages]
        assert len(session.compactions()) == len(found.compactions) + 1
        status = session.status()
        assert status.current_tokens <= status.max_tokens
        if found.usage is not None:
            assert found.usage.prompt_tokens <= status.current_tokens <= 1.1 * found.usage.prompt_tokens + 200


@pytest.mark.spec("S1-17", "S1-30")
@pytest.mark.parametrize("tool", ["claude-code", "codex", "pi"])
@pytest.mark.parametrize("format", ["openai-chat", "openai-responses", "anthropic"])
def test_exports_carry_recorded_usage(tool: str, format: Any) -> None:
    """An answer's line has what the provider counted for it, and the model that gave it; others have zeros."""
    with plimsoll.open("s", store="memory:", model="claude-sonnet-4-5", format=format, max_tokens=50_000) as session:
        session.append({"role": "user", "content": "one"})
        session.view()
        session.append({"role": "assistant", "content": "first"})
        session.record_usage(1_000, 7, 640)
        session.extend([{"role": "user", "content": "two"}, {"role": "assistant", "content": "second"}])
        found = load_file(session.export(to=tool).data)

    assert isinstance(found, Transcript)
    assert [(usage.id, usage.prompt_tokens, usage.completion_tokens) for usage in found.usages] == [("m1", 1_000, 7)]
    model = None if tool == "codex" else "claude-sonnet-4-5"  # its counts do not name one
    assert (found.usages[0].cached_tokens, found.usages[0].model) == (640, model)
