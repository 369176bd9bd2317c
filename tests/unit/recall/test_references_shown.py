"""References are shown to a model only where it has tools to read them."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest

import plimsoll
from attacks import attacked_history
from generated import FORMATS

REFERENCE = re.compile(r"m\d+\.\d+-[0-9a-f]{8}")


def views(format: Any, policy: str, **options: Any) -> list[str]:
    """The views of growing sessions with cut results, repeats, parts that cannot be cut, calls that left, and summaries."""
    shown: list[str] = []
    for seed in range(2):
        story = attacked_history(random.Random(seed), format)
        tokens = plimsoll.count_tokens(story.wires, format=format)
        budget = max(900, tokens // 3)
        with plimsoll.open("s", store="memory:", max_tokens=budget, format=format, policy=policy, **options) as session:
            for start in range(0, len(story.wires), 8):
                session.extend(story.wires[start : start + 8])
                shown.append(json.dumps(session.view(), ensure_ascii=False))
            session.compact()
            shown.append(json.dumps(session.view(), ensure_ascii=False))
    return shown


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["fill", "ladder"])
@pytest.mark.parametrize("format", FORMATS)
def test_references_and_tools_are_named_only_where_there_are_tools(format: str, policy: str) -> None:
    """Without the tools no reference is named, because it would invite calls of tools that do not exist."""
    without, with_tools = views(format, policy), views(format, policy, recall_tools=True)

    assert not [view for view in without if REFERENCE.search(view) or "can be found with" in view]
    assert [view for view in with_tools if REFERENCE.search(view)]
