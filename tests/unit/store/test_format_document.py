"""docs/format.md is the format: its example is what the codec writes, its reader reads what the store writes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import plimsoll
from plimsoll.protocols import RecordDraft
from plimsoll.records.packing import unpacked
from plimsoll.session.transfer.import_file import import_file
from plimsoll.store.jsonl import JsonlStore
from plimsoll.store.paths import folder_of
from plimsoll.store.record import KINDS, decode, encode

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "format.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    """The first block of a language on the page."""
    return re.search(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[1]


def test_the_example_is_what_the_codec_writes():
    """Each line of the example decodes, and encoding its fields gives the same bytes."""
    for line in block("jsonl").encode().splitlines():
        record = decode(line)
        draft = RecordDraft(kind=record.kind, data=record.data, required=record.required)
        again = encode(
            draft, seq=record.seq, position=record.position, at_ms=record.at_ms, batch_left=record.batch_left
        )

        assert again == line + b"\n"


def test_the_reader_on_the_page_reads_a_session(tmp_path):
    """The dozen lines on the page read what a store wrote, and drop an append that did not finish."""
    namespace: dict = {}
    exec(block("python"), namespace)
    with JsonlStore(tmp_path).create("a") as log:
        log.append(
            [RecordDraft(kind="message", data={"content": "é\u2028\ud800"}), RecordDraft(kind="note", data={"x": 1.5})]
        )
        expected = [(record.seq, record.position, record.kind, record.data) for record in log.read()]
        log.append([RecordDraft(kind="note", data={}), RecordDraft(kind="note", data={})])
    data = (tmp_path / "a" / "log.jsonl").read_bytes()[:-3]
    found = [(one["n"], one["m"], one["k"], one["d"]) for one in namespace["read"](data)]

    assert found == expected


def test_the_table_of_kinds_is_complete():
    """The kinds on the page are the kinds the codec knows."""
    table = PAGE.split("## Kinds")[1].split("Stores look at")[0]

    assert set(re.findall(r"^\| `([a-z]+)` \|", table, re.MULTILINE)) == KINDS


def test_the_folders_on_the_page_are_right():
    """The names and folders the page gives are those the store uses."""
    for name, folder in re.findall(r"`(\w+)` (?:is )?in `(\w+~\w+)`", PAGE):
        assert folder_of(name) == folder
    assert folder_of("my-session") == "my-session"
    assert json.loads(block("jsonl").splitlines()[0])["d"]["format"] == 1


def told(kind: str) -> set[str]:
    """The words in code on the page's row of a kind, and below the table."""
    section = PAGE.split("## What the payloads of a session say")[1].split("## The end of the log")[0]
    row = re.search(rf"^\| `{kind}` \|.*$", section, re.MULTILINE)[0]
    return set(re.findall(r"`([a-z_]+)`", row + section.split("\n\n", 3)[3]))


def lived(store: str) -> list[plimsoll.Session]:
    """Sessions that have done everything that writes a record."""
    everything = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 4_000,
        "policy": "ladder",
        "tools": [{"name": "look", "input_schema": {"type": "object"}}],
        "recall_tools": True,
        "system": "Be brief.",
        "user_id": "u",
        "preferences": {},
        "configuration": {},
        "default_filter": {},
        "title": "Tides",
        "project": Path(store),
    }
    plimsoll.open("a", store=store, **everything).close()
    session = plimsoll.open("a", store=store, user_id="v")
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "look", "input": {}}]}
    answer = {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "c", "content": "line of words\n" * 4_000}],
    }
    session.extend([{"role": "user", "content": "look"}, call, answer])
    session.extend([{"role": role, "content": f"{n} " * 150} for n in range(20) for role in ("assistant", "user")])
    session.compact()
    session.pin("m0")
    session.record_usage(1_000, 10, 5)
    session.rollback()
    session.sync(session.history()[:-1])
    session.compact()
    return [session, session.fork("m9"), import_file(session.export(to="pi").data, name="b", store=store)]


@pytest.mark.slow
def test_every_field_is_on_the_page(tmp_path):
    """Each field of each record that sessions write is named in its kind's row or below the table, and every kind is written."""
    seen = set()
    for session in lived(str(tmp_path)):
        with session:
            records = list(session._recorder.log.read())
        for record in records:
            data = unpacked(record.data) if record.kind == "compaction" else record.data
            inner = {key: data[key] for key in ("options", "context", "state") if isinstance(data.get(key), dict)}
            fields = {*record.data, *data, *(key for value in inner.values() for key in value)}
            seen.add(record.kind)

            known = told(record.kind) | (told("session") if "context" in data else set())
            assert fields - known - {"format", "name", "z"} == set(), record.kind  # those are in the table of kinds
    assert seen == KINDS - {"blob"}
