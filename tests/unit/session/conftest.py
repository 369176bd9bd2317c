"""A session that was made of a tool's file."""

from __future__ import annotations

import pytest
from tests.tool_sessions import TOOLS, session_file

from plimsoll.session.transfer.import_file import import_file


@pytest.fixture(params=TOOLS)
def tool(request):
    """Each tool."""
    return request.param


@pytest.fixture
def path(tmp_path, tool):
    """A session file of that tool."""
    file = tmp_path / "there" / "session.jsonl"
    file.parent.mkdir()
    file.write_bytes(session_file(tool))
    file.chmod(0o640)
    return file


@pytest.fixture
def session(path, tmp_path):
    """A session made of that file."""
    with import_file(path, name="x", store=str(tmp_path / "store"), max_tokens=30_000) as made:
        yield made
