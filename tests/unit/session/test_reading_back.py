"""What left the view can be searched and read back, whatever kind of part it was in."""

from __future__ import annotations

import base64
import hashlib
import json
import random
from typing import Any

import pytest

import plimsoll
from plimsoll.compaction.references import name_of
from plimsoll.errors import ReferenceNotFound
from workloads import words

Wire = dict[str, Any]
KEY = "ZQHIDDEN launch code"
PNG = base64.b64encode(
    b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + (640).to_bytes(4, "big") + (480).to_bytes(4, "big") + bytes(300)
).decode()
PNG_HASH = hashlib.sha256(base64.b64decode(PNG)).hexdigest()[:16]
CALL: Wire = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "shot", "input": {}}]}

HIDDEN: list[tuple[str, str, list[Wire]]] = [
    ("document as text", "anthropic", [{"role": "user", "content": [{"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": KEY}}, {"type": "text", "text": "see"}]}]),
    ("document as blocks", "anthropic", [{"role": "user", "content": [{"type": "document", "title": "t", "source": {"type": "content", "content": [{"type": "text", "text": KEY}]}}]}]),
    ("context of a document", "anthropic", [{"role": "user", "content": [{"type": "document", "context": KEY, "source": {"type": "url", "url": "https://x/y.pdf"}}]}]),
    ("search result", "anthropic", [{"role": "user", "content": [{"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": KEY}]}]}]),
    ("search result of a tool", "anthropic", [CALL, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": KEY}]}]}]}]),
    ("MCP call", "openai-responses", [{"type": "mcp_call", "id": "m", "name": "n", "server_label": "s", "arguments": "{}", "output": KEY}]),
    ("code interpreter", "openai-responses", [{"type": "code_interpreter_call", "id": "c", "container_id": "c", "status": "completed", "code": "1", "outputs": [{"type": "logs", "logs": KEY}]}]),
    ("refusal", "openai-chat", [{"role": "assistant", "content": None, "refusal": KEY}]),
    ("refusal block", "openai-responses", [{"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": KEY}]}]),
    ("data part", "ui-parts", [{"id": "d", "role": "assistant", "parts": [{"type": "data-note", "data": {"deep": [KEY]}}, {"type": "text", "text": "x"}]}]),
    ("unknown block", "openai-chat", [{"role": "user", "content": [{"type": "from_the_future", "payload": {"words": [KEY]}}]}]),
]  # fmt: skip


def chat(first: int, last: int, format: str) -> list[Wire]:
    """Requests and answers that push everything before them out of the view."""
    rng = random.Random(first)
    said = [
        {"role": ("user", "assistant")[number % 2], "content": f"message {number}: {words(rng, 60)}"}
        for number in range(first * 2, last * 2)
    ]
    return said if format == "openai-chat" else list(plimsoll.convert(said, to=format).messages)  # type: ignore[arg-type]


def pushed_out(format: Any, messages: list[Wire], **options: Any) -> plimsoll.Session:
    """A session whose view no longer shows these messages."""
    session = plimsoll.open("a", store="memory:", max_tokens=2_500, format=format, **options)
    session.extend(chat(0, 1, format))
    session.extend(messages)
    for start in (1, 12):
        session.extend(chat(start, start + 11, format))
        session.compact()
    return session


@pytest.mark.slow
@pytest.mark.parametrize(("format", "messages"), [row[1:] for row in HIDDEN], ids=[row[0] for row in HIDDEN])
def test_every_part_is_found_and_read(format: str, messages: list[Wire]) -> None:
    """Words in a part of any kind are found by recall, and its reference reads the part's words back."""
    with pushed_out(format, messages) as session:
        assert KEY not in json.dumps(session.view())
        hits = [hit for hit in session.recall("ZQHIDDEN") if "ZQHIDDEN" in hit.text]
        assert hits
        assert KEY in session.read(hits[0].reference)


@pytest.mark.slow
@pytest.mark.parametrize("format", ["openai-chat", "anthropic", "openai-responses", "ui-parts"])
def test_an_image_reads_back_as_what_it_is(format: Any) -> None:
    """A picture that left the view is found and read as its kind, type, size and hash."""
    chat_image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
    said = [{"role": "user", "content": [{"type": "text", "text": "the harbour plan"}, chat_image]}]
    messages = said if format == "openai-chat" else list(plimsoll.convert(said, to=format).messages)
    with pushed_out(format, messages) as session:
        hits = [hit for hit in session.recall("image png") if PNG_HASH in hit.text]
        assert hits
        text = session.read(hits[0].reference)
    for fact in ("image", "image/png", "640x480", "324 bytes", PNG_HASH):
        assert fact in text
    assert PNG[:80] not in text


@pytest.mark.slow
def test_a_tool_result_that_is_a_picture(tmp_path: Any) -> None:
    """A result without a word reads back as the picture it was, after what came with it."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "the quay"}, image]}
    with pushed_out("anthropic", [CALL, {"role": "user", "content": [result]}]) as session:
        (hit, *_) = [hit for hit in session.recall("quay image") if "the quay" in hit.text]
        assert session.read(hit.reference) == f"the quay\n[image: image/png, 640x480, 324 bytes, sha256 {PNG_HASH}]"


@pytest.mark.slow
def test_every_reference_of_an_action_reads_something() -> None:
    """Each reference that a compaction's actions carry reads back as text that is not empty."""
    rows: list[Wire] = [message for _, format, messages in HIDDEN if format == "anthropic" for message in messages]
    with pushed_out("anthropic", rows, policy="ladder") as session:
        references = [name for done in session.compactions() for action in done.actions for name in action.references]
        assert all(session.read(name).strip() for name in references)


def test_a_message_that_is_not_there_is_told_by_the_newest_one() -> None:
    """The error says up to where there are messages."""
    with plimsoll.open("a", store="memory:") as session:
        with pytest.raises(ReferenceNotFound, match=r"'m0' \(there are no messages\)"):
            session.read("m0")
        session.append({"role": "user", "content": "hello"})
        with pytest.raises(ReferenceNotFound, match=r"'m7' \(the newest message is m0\); look for it"):
            session.read("m7")


@pytest.mark.spec("S3-20")
def test_a_reference_of_another_session_is_not_found() -> None:
    """A reference with another text's hash is no damage: nothing is stored under it here."""
    with plimsoll.open("a", store="memory:") as session:
        session.append({"role": "user", "content": "hello"})
        for name in ("m0.0-00000000", "m0.9-2cf24dba", "m7.0-2cf24dba", "nonsense"):
            with pytest.raises(ReferenceNotFound):
                session.read(name)


def test_references_from_before_parts_had_words() -> None:
    """A reference that was written when a picture had no text of its own still reads, now with its description."""
    chat_image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
    with plimsoll.open("a", store="memory:") as session:
        session.append({"role": "user", "content": [{"type": "text", "text": "x"}, chat_image]})
        assert PNG_HASH in session.read(f"m0.1-{hashlib.sha256(b'').hexdigest()[:8]}")


@pytest.mark.parametrize("budget", [200, 300])
def test_an_answer_that_was_cut_behind_reasoning_is_read_back_after_an_edit(budget: int) -> None:
    """When a host edits a request behind which a cut answer stands, what later leaves the view is still referred to as it was said."""
    said = "the load line of a ship is what it may be laden to "
    held: list[Wire] = []

    def turn(number: int, repeats: int) -> list[Wire]:
        content = [{"type": "output_text", "text": f"{number} " + said * repeats, "annotations": []}]
        return [
            {"role": "user", "content": f"request {number}: {said * 8 if number == 1 else ''}"},
            {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "c2VhbGVk"},
            {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": content},
        ]

    with plimsoll.open(store="memory:", format="openai-responses", max_tokens=budget) as session:
        for number, repeats in ((1, 5), (2, 80), (3, 5), (4, 80), (5, 5)):
            held += turn(number, repeats)
            session.sync(held)
            held[-3] = {"role": "user", "content": f"edited {number}"}
            session.sync(held)
        actions = [action for compaction in session.compactions() for action in compaction.actions]

        assert actions
        for reference in (reference for action in actions for reference in action.references):
            session.read(reference)


def test_references_of_parts_that_are_read_in_another_order_now_still_name_them() -> None:
    """Before thinking in a field of its own was read as thinking, it was a message's last part: its text had another number."""
    answer = {"role": "assistant", "content": KEY, "thinking_blocks": [{"type": "thinking", "thinking": "hm"}]}
    with plimsoll.open(store="memory:") as session:
        session.extend([{"role": "user", "content": "x"}, answer])

        assert session.read(name_of(1, 0, KEY)) == session.read(name_of(1, 1, KEY)) == KEY
        with pytest.raises(ReferenceNotFound):
            session.read(name_of(1, 0, "another"))
