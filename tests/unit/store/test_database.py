"""A database that can only be read."""

from __future__ import annotations

import sqlite3
import traceback
from pathlib import Path
from typing import Any, NoReturn

import pytest

from plimsoll.errors import StoreUnusable
from plimsoll.store import database
from plimsoll.store.open import open_store


def refuse(*_: Any, **__: Any) -> NoReturn:
    """What SQLite says when a program may not write."""
    error = sqlite3.OperationalError("attempt to write a readonly database")
    error.sqlite_errorcode = sqlite3.SQLITE_READONLY
    raise error


def test_each_refusal_is_an_error_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is raised again would keep the frames of all calls before, with the messages in them."""
    spec = f"sqlite:///{tmp_path}/sessions.db"
    made = open_store(spec)
    made.create("a").close()
    made.close()
    monkeypatch.setattr(database, "_prepare", refuse)
    store = open_store(spec)
    sizes = []
    for _ in range(3):
        with pytest.raises(StoreUnusable, match="not allowed to write there") as refused:
            store.create("b")
        sizes.append(len(list(traceback.walk_tb(refused.value.__traceback__))))

    assert sizes[0] == sizes[-1]
