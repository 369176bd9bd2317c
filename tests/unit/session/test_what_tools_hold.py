"""What a tool's file cannot hold: it leaves a mark, is named, and is told before a compaction is recorded."""

from __future__ import annotations

import json

import pytest
from tests.growing import AT
from tests.tool_sessions import session_file

from plimsoll.errors import ViewDiffers
from plimsoll.session.transfer.import_file import import_file
from plimsoll.transcripts.detect import load_file

PDF = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjQ="}}
SEARCH = [
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "tide"}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
]
CITED = {"type": "char_location", "cited_text": "a", "document_index": 0, "start_char_index": 0, "end_char_index": 1}
SAID = {
    "a document": [{"role": "user", "content": [PDF, {"type": "text", "text": "KEPT WORDS"}]}],
    "an address": [
        {"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "https://a.example/b.png"}}]}
    ],
    "a search": [{"role": "assistant", "content": [*SEARCH, {"type": "text", "text": "KEPT WORDS"}]}],
    "citations": [{"role": "assistant", "content": [{"type": "text", "text": "KEPT WORDS", "citations": [CITED]}]}],
    "a document in a result": [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "new", "name": "read", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "new", "content": [PDF]}]},
    ],
    "system text": [{"role": "user", "content": "Go on."}, {"role": "system", "content": "KEPT WORDS"}],
}


@pytest.mark.slow
@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize("compacts", [False, True])
@pytest.mark.parametrize("tool", ["claude-code", "pi"])
def test_what_pi_cannot_hold_is_named(tool, said, compacts):
    """The file of another tool, or its own, has all the rest, and a mark in the place of what it cannot hold."""
    with import_file(session_file(tool), name="x", store="memory:", max_tokens=30_000) as session:
        session.extend(SAID[said])
        if compacts:
            session.compact()
        exported = session.export(to="pi", at=AT)
        view = session.peek()
    read = json.dumps(load_file(exported.data).view())

    assert exported.losses
    assert "view" not in {loss.kind for loss in exported.losses}
    assert ("KEPT WORDS" in read) == ("KEPT WORDS" in json.dumps(view))
    assert ("left out]" in read) == (said in {"a document", "an address", "a search", "a document in a result"})


def test_in_place_is_only_what_the_session_has(tmp_path):
    """Over the file itself nothing is written that says less than the view."""
    path = tmp_path / "f.jsonl"
    path.write_bytes(session_file("pi"))
    with import_file(path, name="x", store="memory:") as session:
        session.extend(SAID["a document"])
        with pytest.raises(ViewDiffers):
            session.export(in_place=True)
    assert path.read_bytes() == session_file("pi")
