"""Finding out what a file is."""

import gzip
import json
import subprocess
import sys

import pytest
from tests.tool_sessions import session_file

from plimsoll.errors import FormatError, LimitExceeded, MissingExtra, StoreUnusable
from plimsoll.limits import TRANSCRIPT_LINES_MAX
from plimsoll.transcripts.detect import load_file
from plimsoll.transcripts.values import Conversation, Transcript

CHAT = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}]
BLOCKS = [{"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]}]
ITEMS = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}]
PARTS = [{"role": "user", "parts": [{"type": "text", "text": "hi"}]}]
CLAUDE = {
    "type": "user",
    "uuid": "u",
    "parentUuid": None,
    "sessionId": "s",
    "message": {"role": "user", "content": "x"},
}
CODEX = {"timestamp": "t", "type": "session_meta", "payload": {"id": "x"}}
PI = {"type": "session", "version": 3, "id": "x", "timestamp": "t", "cwd": "/"}


def kind_of(source):
    """What bytes hold: a tool's session, or messages in a format; None when it is neither."""
    try:
        found = load_file(source)
    except FormatError:
        return None
    if isinstance(found, Transcript):
        return found.tool
    return found.format if found.messages else None


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (CHAT, "openai-chat"),
        (BLOCKS, "anthropic"),
        (ITEMS, "openai-responses"),
        (PARTS, "ui-parts"),
        (CHAT[0], "openai-chat"),
        ({"messages": CHAT}, "openai-chat"),
        ({"messages": CHAT, "system": "be good"}, "anthropic"),
        ({"messages": CHAT, "tools": [{"name": "f", "input_schema": {}}]}, "anthropic"),
        ({"input": "hi", "instructions": "be good"}, "openai-responses"),
        ({"input": CHAT}, "openai-responses"),
        ([], None),
        ([1], None),
        ({"a": 1}, None),
        ("text", None),
    ],
)
def test_documents_are_recognised(document, expected):
    """Arrays, single messages and request bodies, written on one line or on many."""
    assert kind_of(json.dumps(document).encode()) == expected
    assert kind_of(json.dumps(document, indent=2).encode()) == expected


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([CLAUDE], "claude-code"),
        ([{"type": "summary", "summary": "s", "leafUuid": "u"}, CLAUDE], "claude-code"),
        ([{"type": "file-history-snapshot", "messageId": "m", "snapshot": {}}], "claude-code"),
        ([CODEX], "codex"),
        ([PI], "pi"),
        (CHAT, "openai-chat"),
        (ITEMS, "openai-responses"),
    ],
)
def test_lines_are_recognised(rows, expected):
    """Session files by their first lines, JSON lines of messages by all of them; a broken first line does not matter."""
    data = "\n".join(map(json.dumps, rows)).encode()
    assert kind_of(data) == expected
    if expected in ("claude-code", "codex", "pi"):
        assert kind_of(b"{broken\n" + data) == expected


def test_a_request_body_keeps_what_stands_beside_its_messages():
    """System text, tools and the model come along."""
    found = load_file(json.dumps({"model": "m", "system": "s", "tools": [{"name": "f"}], "messages": CHAT}).encode())
    assert isinstance(found, Conversation)
    assert (found.model, found.system, found.tools) == ("m", "s", ({"name": "f"},))
    assert list(found.messages) == CHAT


def test_broken_lines_among_messages_are_findings():
    """One bad line does not cost the others."""
    found = load_file((json.dumps(CHAT[0]) + "\n{broken\n" + json.dumps(CHAT[1])).encode())
    assert list(found.messages) == CHAT
    assert [finding.line for finding in found.findings] == [1]


@pytest.mark.parametrize("data", [b"", b"\n\n", b"hello", b"[", b"[" * 10**6, b"\x00" * 100, b"[1]", b"{}", b"null"])
def test_what_is_nothing_is_refused_with_a_reason(data):
    """Anything else is a FormatError from `load_file` and of no kind."""
    assert kind_of(data) is None
    with pytest.raises(FormatError):
        load_file(data)


def test_a_pi_session_without_its_header_is_refused_as_one():
    """A file whose first line is missing is one that pi does not read, and the error says so."""
    lines = session_file("pi").splitlines(keepends=True)
    for part in (lines[1:], lines[1:2], lines[40:]):
        with pytest.raises(FormatError, match="pi session"):
            load_file(b"".join(part))


@pytest.mark.parametrize("path", ["/nowhere/file.jsonl", "/", "a\0b"])
def test_files_that_cannot_be_read_are_a_typed_error(path):
    """A missing file, a folder and an impossible path say so, and nothing of a store: there is none."""
    with pytest.raises(StoreUnusable, match=r"^cannot read '\S+': [^;]+$"):
        load_file(path)


def packed_by(ending, data):
    """The bytes packed, with a checksum at their end."""
    if ending == "gz":
        return gzip.compress(data)
    return pytest.importorskip("zstandard").ZstdCompressor(write_checksum=True).compress(data)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["zst", "gz"])
def test_archives_are_read(tmp_path, ending):
    """A packed rollout reads as the file it was made of; a cut one gives what can be read, with a finding."""
    row = {"timestamp": "t", "type": "response_item", "payload": ITEMS[0]}
    data = "".join(json.dumps(r) + "\n" for r in [CODEX, *[row] * 2000]).encode()
    packed = packed_by(ending, data)
    path = tmp_path / f"rollout-x.jsonl.{ending}"
    path.write_bytes(packed)
    found = load_file(path)
    assert isinstance(found, Transcript)
    assert len(found.messages) == 2000
    assert kind_of(path) == "codex"
    assert load_file(packed + packed).findings == ()
    cut = load_file(packed + packed[:-3])
    assert "broken-archive" in {finding.kind for finding in cut.findings}


def test_an_archive_without_its_package_names_it(monkeypatch):
    """Without a decompressor the error says what to install."""
    if sys.version_info >= (3, 14):
        pytest.skip("this Python reads zstd by itself")
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingExtra, match=r"plimsoll-context\[zstd\]"):
        load_file(b"\x28\xb5\x2f\xfd1234")


def test_files_of_sub_agents_are_named(tmp_path):
    """The transcripts beside a Claude Code session are listed; symbolic links are not."""
    path = tmp_path / "s1.jsonl"
    path.write_text(json.dumps(CLAUDE))
    beside = tmp_path / "s1" / "subagents"
    beside.mkdir(parents=True)
    (beside / "agent-1.jsonl").write_text("{}")
    (beside / "agent-2.jsonl").symlink_to(path)
    deep = beside / "workflows" / "run-1"
    deep.mkdir(parents=True)
    (deep / "agent-3.jsonl").write_text("{}")
    (deep / "journal.jsonl").write_text("{}")
    (beside / "linked").symlink_to(deep)
    found = load_file(path)
    assert isinstance(found, Transcript)
    assert found.sidechain_paths == (str(beside / "agent-1.jsonl"), str(deep / "agent-3.jsonl"))


@pytest.mark.slow
def test_an_archive_that_unpacks_too_far_is_refused_early() -> None:
    """Half a kilobyte of archive that holds millions of lines is refused before they are read, and costs little memory."""
    zstandard = pytest.importorskip("zstandard")
    packed = zstandard.ZstdCompressor().compress(b"{}\n" * 2_000_000)
    program = (
        "import resource, sys\n"
        "from plimsoll.transcripts.detect import load_file\n"
        "from plimsoll.errors import LimitExceeded\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try:\n"
        "    load_file(sys.stdin.buffer.read())\n"
        "except LimitExceeded as error:\n"
        "    print(error.limit, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024 < 64)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], input=packed, capture_output=True, timeout=60, check=False)
    assert done.stdout == b"ARCHIVE_RATIO_MAX True\n", done.stderr


@pytest.mark.slow
def test_more_lines_than_any_session_has_are_refused() -> None:
    """A file of very many short lines is refused by their number, before any is parsed."""
    with pytest.raises(LimitExceeded, match="TRANSCRIPT_LINES_MAX"):
        load_file(b"{}\n" * (TRANSCRIPT_LINES_MAX + 1))


def test_archives_of_sessions_are_within_the_ratio() -> None:
    """A long session that repeats itself, packed as hard as zstd can, is read."""
    zstandard = pytest.importorskip("zstandard")
    line = json.dumps({"role": "user", "content": "tide " * 400}).encode() + b"\n"
    packed = zstandard.ZstdCompressor(level=19).compress(line * 400)
    found = load_file(packed)
    assert isinstance(found, Conversation)
    assert len(found.messages) == 400
