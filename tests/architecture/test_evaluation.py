"""What measures a compaction shares no code with what makes it."""

from __future__ import annotations


def test_an_evaluation_has_extractors_of_its_own(sources):
    """No module of `api.evaluation` imports the ledger of facts or the rules of summaries."""
    inner = [
        f"{source.place}:{found.line} imports {found.target}"
        for source in sources
        if source.name.startswith("api.evaluation")
        for found in source.imports
        if found.target.startswith(("plimsoll.summary", "plimsoll.memory"))
    ]

    assert inner == []
    assert any(source.name == "api.evaluation.extract" for source in sources)
