"""A large file is read in one pass: each message is decoded once to be read and once to be viewed, and the file is never held."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import plimsoll
from plimsoll.formats.registry import FORMATS
from plimsoll.session.transfer.import_file import import_file
from plimsoll.transcripts import lines
from plimsoll.transcripts.detect import load_file


def rows(count: int, result_chars: int = 20) -> Iterator[dict[str, Any]]:
    """The lines of a Claude Code session: requests, calls on lines of their own, results said twice, answers, compactions."""
    parent = None
    for n in range(count):
        if n % 1000 == 999:
            boundary = {"type": "system", "subtype": "compact_boundary", "compactMetadata": {"trigger": "auto"}}
            yield {**boundary, "uuid": f"u{n}", "parentUuid": None, "sessionId": "s"}
            parent = f"u{n}"
            continue
        kind, model = n % 5, "claude-sonnet-4-5"
        text = f"{n} " + "words that differ a little " * (result_chars // 27)
        message: dict[str, Any] = {"role": "user", "content": f"request {n}"}
        if kind in (1, 2):
            block = {"type": "text", "text": f"look {n}"} if kind == 1 else {"type": "tool_use", "name": "Read"}
            call = {"id": f"t{n}", "input": {"n": n}} if kind == 2 else {}
            message = {"id": f"a{n - kind}", "role": "assistant", "model": model, "content": [{**block, **call}]}
        elif kind == 3:
            message["content"] = [{"type": "tool_result", "tool_use_id": f"t{n - 1}", "content": text}]
        elif kind == 4:
            message = {
                "id": f"b{n}",
                "role": "assistant",
                "model": model,
                "content": [{"type": "text", "text": f"done {n}"}],
            }
        if message["role"] == "assistant":
            message["usage"] = {"input_tokens": 100 + n, "output_tokens": 7}
        yield {
            "type": message["role"],
            "uuid": f"u{n}",
            "parentUuid": parent,
            "sessionId": "s",
            "timestamp": f"2026-01-01T00:{n // 60 % 60:02d}:{n % 60:02d}.000Z",
            "message": message,
            **({"toolUseResult": {"file": {"content": text}}} if kind == 3 else {}),
        }
        parent = f"u{n}"


def file_of(path: Path, count: int, result_chars: int = 20) -> Path:
    """A file of that many lines."""
    with path.open("w") as file:
        file.writelines(f"{json.dumps(row)}\n" for row in rows(count, result_chars))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("where", ["store", "sqlite:///store.db", "memory:label"])
def test_no_message_is_decoded_more_than_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """Importing a session of 40 messages and viewing it decodes each line once to read it, and each message once to show it."""
    monkeypatch.chdir(tmp_path)
    path = file_of(tmp_path / "s.jsonl", 50)
    format, decoded = FORMATS["anthropic"], []

    def counting(wire: Any, position: int) -> Any:
        decoded.append(json.dumps(wire["content"]))
        return format.decode(wire, position)

    counted = {name: FORMATS[name] for name in FORMATS} | {"anthropic": replace(format, decode=counting)}
    monkeypatch.setattr("plimsoll.formats.registry._loaded", counted.__getitem__)
    with import_file(path, store=where) as session:
        assert len(session.view()) == 40
    assert 90 <= len(decoded) <= 100
    assert max(map(decoded.count, decoded)) == 2


def test_what_was_loaded_is_imported_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A loaded transcript is not read again but for its bytes, which are those it was read from."""
    path = file_of(tmp_path / "s.jsonl", 50)
    found = load_file(path)
    monkeypatch.setattr("plimsoll.session.transfer.import_file.load_file", lambda *_: pytest.fail("read again"))
    with import_file(found, path=path, store="memory:") as session:
        assert session.export(to="claude-code").data == path.read_bytes()
        assert session.notes("source")[0]["path"] == str(path)
    with path.open("a") as file:
        file.write("{}\n")
    assert found.raw() == path.read_bytes()[:-3]
    path.write_text("something else\n")
    with pytest.raises(plimsoll.errors.SourceChanged):
        found.raw()


def test_an_import_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a session nor files of one are there when something goes wrong halfway."""
    path = file_of(tmp_path / "s.jsonl", 50)
    monkeypatch.setattr("plimsoll.session.transfer.import_file.adopt", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        import_file(path, store=tmp_path / "store")
    assert plimsoll.sessions(tmp_path / "store") == []
    assert [found.name for found in (tmp_path / "store").rglob("*") if found.is_file()] == []


VOCABULARY_MIB = 45
"""What a vocabulary takes, which a small file is counted without."""


def peak_mib(*arguments: str) -> float:
    """The most memory that a command held."""
    code = (
        "import resource, subprocess, sys; subprocess.run([sys.executable, '-m', 'plimsoll', *sys.argv[1:]], check=True,"
        " stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL);"
        " print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / (1 << (20 if sys.platform == 'darwin' else 10)))"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], check=True, capture_output=True, text=True)
    return float(done.stdout)


@pytest.mark.slow
def test_memory_stays_below_three_times_the_file(tmp_path: Path) -> None:
    """Counting, inspecting and importing a file, and exporting it again, take little more than what is in it: 600 MB for 200."""
    pytest.importorskip("resource")
    small, large = file_of(tmp_path / "small.jsonl", 50), file_of(tmp_path / "large.jsonl", 12_000, 6_000)
    size = large.stat().st_size / (1 << 20)
    store = str(tmp_path / "store")
    assert size > 25
    for command in (["count"], ["inspect"], ["import", "--store", store, "--as"]):
        taken = [
            peak_mib(*command[:1], str(file), *command[1:], *([file.stem] * (len(command) > 1)))
            for file in (small, large)
        ]
        assert taken[1] - taken[0] <= VOCABULARY_MIB + 2.2 * size, command
    taken = [peak_mib("export", file.stem, "--to", "claude-code", "--store", store) for file in (small, large)]
    assert taken[1] - taken[0] <= VOCABULARY_MIB + 2.2 * size


@pytest.mark.parametrize("head", [b"", b"\xef\xbb\xbf \t"])
def test_a_list_of_messages_is_parsed_once(monkeypatch: pytest.MonkeyPatch, head: bytes) -> None:
    """It is no line of a session file, so that it is not parsed to tell whose it is."""
    parsed: list[int] = []
    parse = lines.parse

    def counting(raw: bytes) -> Any:
        parsed.append(len(raw))
        return parse(raw)

    monkeypatch.setattr(lines, "parse", counting)
    raw = head + json.dumps([{"role": "user", "content": "go"}] * 9).encode()
    assert len(load_file(raw).view()) == 9
    assert parsed == [len(raw)]
