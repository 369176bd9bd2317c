"""docs/format.md is the format: its example is what the codec writes, its reader reads what the store writes."""

from __future__ import annotations

import json
import re
from pathlib import Path

from plimsoll.ports import Draft
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
        draft = Draft(kind=record.kind, data=record.data, required=record.required)
        again = encode(
            draft, seq=record.seq, position=record.position, at_ms=record.at_ms, batch_left=record.batch_left
        )

        assert again == line + b"\n"


def test_the_reader_on_the_page_reads_a_session(tmp_path):
    """The dozen lines on the page read what a store wrote, and drop an append that did not finish."""
    namespace: dict = {}
    exec(block("python"), namespace)
    with JsonlStore(tmp_path).create("a") as log:
        log.append([Draft(kind="message", data={"content": "é\u2028\ud800"}), Draft(kind="note", data={"x": 1.5})])
        expected = [(record.seq, record.position, record.kind, record.data) for record in log.read()]
        log.append([Draft(kind="note", data={}), Draft(kind="note", data={})])
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
