"""Results kept outside the view: every kind of store, read back whole, and stores that fail."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

import plimsoll
from plimsoll.api.offloads import OFFLOAD_SESSION
from plimsoll.errors import ReferenceNotFound, SessionDamaged, SettingError, StoreFull
from plimsoll.store.memory import InMemoryStore

LOG = "\n".join(f"step {n}: pallet {n * 37 % 991} is at berth {n % 17}" for n in range(3_000))
ROWS = json.dumps([{"id": n, "name": f"pallet {n}"} for n in range(400)])
ODD = "half \ud83d a character, 荷 and a NUL \0 " + "x " * 3_000
DOCUMENT = {"id": 7, "title": "Tides", "outline": ["ebb", "flow"], "content": LOG, "metadata": {"pages": 3}}


def places(kind: str, folder: Path) -> Any:
    """A store by name, as an object, or with the port."""
    return {
        "folder": str(folder / "s"),
        "sqlite": f"sqlite:///{folder / 's.db'}",
        "memory": "memory:",
        "named memory": "memory:offloads",
        "store": InMemoryStore(),
        "port": plimsoll.Offloads(str(folder / "p")),
        "path": folder / "s",
    }[kind]


@pytest.mark.slow
@pytest.mark.spec("S3-20", "W3-17", "W3-20")
@pytest.mark.parametrize("kind", ["folder", "sqlite", "memory", "named memory", "store", "port", "path"])
@pytest.mark.parametrize("text", [LOG, ROWS, ODD], ids=["log", "rows", "odd"])
def test_what_is_shrunk_is_kept_whole(tmp_path: Path, kind: str, text: str) -> None:
    """The shown reference reads the whole back, the same text has the same one, and another call finds it too."""
    store = places(kind, tmp_path)
    shrunk = plimsoll.shrink("run", text, max_tokens=200, store=store)
    offloads = store if kind == "port" else plimsoll.Offloads(store)

    assert shrunk.reference is not None
    assert shrunk.reference in shrunk.text
    assert (shrunk.problem, shrunk.characters) == (None, len(text))
    assert offloads.get(shrunk.reference) == text
    assert offloads.read(shrunk.reference, offset=5, limit=20) == text[5:25]
    assert plimsoll.shrink("run", text, max_tokens=300, store=store).reference == shrunk.reference
    with pytest.raises(ReferenceNotFound):
        offloads.get("0123456789abcdef")
    for wrong in ("m0.0-00000000", "", 3, None):
        with pytest.raises(ReferenceNotFound):
            offloads.get(wrong)  # type: ignore[arg-type]


@pytest.mark.spec("S3-20", "W3-20")
def test_a_text_is_kept_once(tmp_path: Path) -> None:
    """Kept again it is neither written nor noted again; what fits is not kept at all."""
    store = str(tmp_path)
    for _ in range(3):
        plimsoll.shrink("run", LOG, max_tokens=200, store=store)
    plimsoll.shrink("run", "short", store=store)
    with plimsoll.open(OFFLOAD_SESSION, store=store, create=False) as session:
        notes = session.notes("offload")
        assert [note["label"] for note in notes] == ["run"]
        assert session.read(notes[0]["blob"][:16]) == LOG


@pytest.mark.spec("S3-20", "W3-17")
@pytest.mark.parametrize("kind", ["folder", "memory"])
def test_an_open_session_keeps_it(tmp_path: Path, kind: str) -> None:
    """Under the reference its `read` and the model's tool read it page by page, and `get_blob` gives the same bytes."""
    with plimsoll.open("a", store=places(kind, tmp_path), recall_tools=True, max_tokens=8_000) as session:
        reference = plimsoll.shrink("run", LOG, max_tokens=200, store=session).reference
        assert reference is not None
        assert session.read(reference) == session.get_blob(reference).decode() == LOG
        pages, offset = "", 0
        while offset < len(LOG):
            answer = session.call_tool("read", {"reference": reference, "offset": offset})
            heading, _, page = answer.partition("\n")
            assert heading.startswith(f"[stored text {reference}, characters {offset}-")
            pages, offset = pages + page, offset + len(page)
        assert pages == LOG
        name = session.put_blob(b"\xff\xfe is no text")
        assert session.read(name) == "\\xff\\xfe is no text"
        assert session.get_blob(name) == b"\xff\xfe is no text"
        with pytest.raises(ReferenceNotFound):
            session.read("0123456789abcdef")


class Failing:
    """A store of somebody else's that does not work."""

    def __init__(self, error: Exception | None = None, answer: Any = None) -> None:
        self.error = error
        self.answer = answer

    def put(self, text: str, *, label: str) -> Any:
        """Fail, or give an answer that is no reference."""
        assert text
        assert label
        if self.error is not None:
            raise self.error
        return self.answer


@pytest.mark.spec("S3-20", "W3-17")
@pytest.mark.parametrize(
    ("store", "problem"),
    [
        (Failing(OSError("disk full")), "OSError: disk full"),
        (Failing(StoreFull("/x")), "StoreFull: "),
        (Failing(KeyError("key")), "KeyError: "),
        (Failing(answer=None), "SettingError: "),
        (Failing(answer=7), "SettingError: "),
        (Failing(answer="with spaces in it"), "SettingError: "),
        (InMemoryStore(size_bytes_max=900), "StoreFull: "),
    ],
)
def test_a_store_that_fails_costs_the_reference(store: Any, problem: str) -> None:
    """The result is cut all the same, as it would be without a store, and says what went wrong."""
    shrunk = plimsoll.shrink("run", LOG, max_tokens=200, store=store)

    assert (shrunk.reference, shrunk.tokens_after <= 200) == (None, True)
    assert shrunk.problem is not None
    assert shrunk.problem.startswith(problem)
    assert shrunk.text == plimsoll.shrink("run", LOG, max_tokens=200).text


@pytest.mark.parametrize("wrong", [3, object(), {"put": 1}, ["a"], "http://x/y", "", b"x", True])
def test_what_is_no_store_is_refused(wrong: Any) -> None:
    """By a SettingError, before anything is shrunk."""
    with pytest.raises(SettingError):
        plimsoll.shrink("run", LOG, max_tokens=200, store=wrong)


@pytest.mark.spec("W3-17")
def test_damage_is_told(tmp_path: Path) -> None:
    """A text that is no longer what was kept is not given back."""
    reference = plimsoll.shrink("run", LOG, max_tokens=200, store=str(tmp_path)).reference
    assert reference is not None
    blob = next(path for path in tmp_path.rglob(f"{reference}*") if path.is_file())
    blob.write_bytes(b"another text")
    with pytest.raises(SessionDamaged):
        plimsoll.Offloads(str(tmp_path)).get(reference)


@pytest.mark.spec("W3-18")
@pytest.mark.timeout(60)
def test_several_threads_keep_texts_at_once(tmp_path: Path) -> None:
    """Writers wait for each other for a moment, and every reference reads its own text back."""
    found: dict[str, str | None] = {}

    def keep(number: int) -> None:
        text = f"text {number} " * 400
        found[text] = plimsoll.shrink("run", text, max_tokens=60, store=str(tmp_path)).reference

    threads = [threading.Thread(target=keep, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    offloads = plimsoll.Offloads(str(tmp_path))
    assert len(found) == 8
    assert all(reference is not None and offloads.get(reference) == text for text, reference in found.items())


@pytest.mark.spec("S3-15", "S3-17")
def test_how_many_rows_of_a_list_stay() -> None:
    """`list_items_max` bounds the rows; the note says how many there were."""
    for items in (20, 5, 1):
        shrunk = json.loads(plimsoll.shrink("list", ROWS, max_tokens=1_500, list_items_max=items).text)
        assert len(shrunk["items"]) <= items
        assert shrunk["total_count"] == 400
    for wrong in (0, -1, 2.5, "20"):
        with pytest.raises(SettingError):
            plimsoll.shrink("list", ROWS, list_items_max=wrong)  # type: ignore[arg-type]


@pytest.mark.spec("S3-15", "S3-18", "W3-13", "W3-19")
def test_how_much_of_a_kept_result_stays() -> None:
    """`preview_chars` makes the preview beside a reference smaller; without a store nothing more is lost."""
    large = plimsoll.shrink("run", LOG, max_tokens=1_000, store="memory:")
    small = plimsoll.shrink("run", LOG, max_tokens=1_000, store="memory:", preview_chars=400)

    assert small.reference == large.reference
    assert small.tokens_after <= 100 < large.tokens_after <= 1_000
    assert plimsoll.shrink("run", LOG, preview_chars=400).text == plimsoll.shrink("run", LOG).text
    assert plimsoll.shrink("run", LOG, store="memory:", preview_chars=10**9).tokens_after <= 1_000
    with pytest.raises(SettingError):
        plimsoll.shrink("run", LOG, preview_chars=-1)


@pytest.mark.spec("S3-16", "S3-21")
def test_a_document_keeps_its_frame_and_says_how_long_it_is() -> None:
    """Id, title, outline and metadata stay; the note says tokens and characters of the whole, also when it is shrunk again."""
    whole = json.dumps(DOCUMENT)
    shrunk = plimsoll.shrink("getDoc", DOCUMENT, max_tokens=400, store="memory:")
    found = json.loads(shrunk.text)

    assert {name: found[name] for name in ("id", "title", "outline", "metadata")} == {
        name: DOCUMENT[name] for name in ("id", "title", "outline", "metadata")
    }
    note = found["_shrunk"]
    length = len(plimsoll.Offloads("memory:").get(note["reference"]))
    assert (note["characters"], note["tokens"]) == (shrunk.characters, shrunk.tokens_before)
    assert shrunk.characters == length
    assert abs(length - len(whole)) < len(whole) // 10
    again = json.loads(plimsoll.shrink("getDoc", shrunk.text, max_tokens=200).text)["_shrunk"]
    assert {name: again[name] for name in ("characters", "tokens", "reference")} == {
        name: note[name] for name in ("characters", "tokens", "reference")
    }


def test_offloads_show_where_they_are(tmp_path):
    """Their representation names the store."""
    assert str(tmp_path) in repr(plimsoll.Offloads(str(tmp_path)))
