"""What the command line can, typed: sessions by name, files of other tools, measuring and inspecting."""

from __future__ import annotations

from pathlib import Path
from typing import assert_type

import plimsoll


def by_name(store: str) -> str:
    """Listing, checking, repairing, archiving and deleting."""
    for info in plimsoll.sessions(store, archived=True):
        assert_type(info, plimsoll.SessionInfo)
        plimsoll.restore(info.name, store)
    verified = plimsoll.verify("pier", store)
    assert_type(verified, plimsoll.Verified)
    repaired = plimsoll.repair("pier", store, into=plimsoll.open_store("memory:copies"))
    assert_type(repaired, plimsoll.Repaired)
    plimsoll.archive("pier", store)
    plimsoll.delete("pier", store)
    return repaired.name


def of_other_tools(path: Path) -> bytes | None:
    """A file as data, as a session, and as a file again."""
    for found in plimsoll.discover():
        assert_type(found, plimsoll.SessionFile)
    loaded = plimsoll.load_file(path)
    assert_type(loaded, plimsoll.Transcript | plimsoll.Conversation)
    assert_type(loaded.findings, tuple[plimsoll.Finding, ...])
    with plimsoll.import_file(path, name=plimsoll.import_name(path)) as session:
        session.update()
        exported = session.export(to="codex")
        return exported.data if isinstance(exported, plimsoll.Exported) else None


def looked_at(path: Path) -> str:
    """Sizes and plans, of files and sessions; a session that is only read."""
    assert_type(plimsoll.measure(path).weights.total_tokens, int)
    assert_type(plimsoll.token_counter("gpt-4o"), plimsoll.TokenCounter)
    with plimsoll.open("pier", create=False, read_only=True) as session:
        assert_type(session.message(12), plimsoll.HistoryMessage)
        assert_type(session.view_after("c13"), plimsoll.View)
        assert_type(session.measure(), plimsoll.Measure)
        assert_type(session.inspect(), plimsoll.Inspection)
        assert_type(session.policy, plimsoll.Policy)
    return plimsoll.inspect(path, max_tokens=8_000, policy="ladder").html()
