"""What requests say: read once, also where a list grows, and the same as if all of it were read again."""

from __future__ import annotations

import copy
import random

import pytest

from plimsoll.conversations import content
from plimsoll.conversations.content import LISTS_MAX, ContentReader
from plimsoll.formats.requests import RequestParts

SECRET = "ghp_" + "a1B2" * 9


def parts(messages, system=None):
    """A request with these messages."""
    return RequestParts(format="openai-chat", messages=copy.deepcopy(messages), system=system)


def said(found):
    """All that is known of a request."""
    redaction = found.redaction
    return found.messages, found.system, found.listing, redaction.found, redaction.occurrences


def user(text):
    """A message of the user."""
    return {"role": "user", "content": text}


@pytest.mark.parametrize("seed", range(20))
def test_a_list_that_grows_or_changes_is_read_as_a_fresh_one(seed):
    """With secrets, edits, other keys and other lists in between."""
    rng = random.Random(seed)
    reader, lists = (
        ContentReader(redact=True),
        [[user("a"), user("b")], [{"role": "system", "content": "s"}, user("a")]],
    )
    for _ in range(30):
        messages = rng.choice(lists)
        match rng.randrange(5):
            case 0:
                messages[rng.randrange(len(messages))]["content"] = f"token {SECRET} {rng.random()}"
            case 1 if len(messages) > 2:
                del messages[rng.randrange(2, len(messages))]
            case _:
                messages.append(user(rng.choice(("why?", f"password = '{SECRET}'", "sk-mine-0123456789abc"))))
        keys = rng.choice(([], ["sk-mine-0123456789abc"]))
        assert said(reader.read(parts(messages, "be brief"), keys)) == said(
            ContentReader(redact=True).read(parts(messages, "be brief"), keys)
        )


def test_only_new_messages_are_read(monkeypatch):
    """Of a longer list what was added, of the same one nothing, of another one all."""
    read = []
    monkeypatch.setattr(content, "digest", lambda wire, digest=content.digest: read.append(wire) or digest(wire))
    reader, messages = ContentReader(redact=True), [user(f"message {number}") for number in range(50)]
    reader.read(parts(messages))
    assert len(read) == 50
    reader.read(parts([*messages, user("more")]))
    assert read[50:] == [user("more")]
    reader.read(parts([*messages, user("more")]))
    assert len(read) == 51
    reader.read(parts([user("message 0"), *messages[2:]]))
    assert len(read) == 51 + 49


@pytest.mark.parametrize(("one", "other"), [(1, True), (1, 1.0), (0, False), (0, None)])
def test_values_that_python_takes_for_equal(one, other):
    """They are different JSON."""
    reader = ContentReader(redact=True)
    first = {"role": "user", "content": "x", "n": one}
    reader.read(parts([user("a"), user("b"), first]))
    found = reader.read(parts([user("a"), user("b"), {**first, "n": other}]))
    assert type(found.messages[2]["n"]) is type(other)


def test_what_is_remembered_is_bounded(monkeypatch):
    """In lists, and in messages of one."""
    monkeypatch.setattr(content, "MESSAGES_MAX", 9)
    reader = ContentReader(redact=True)
    for number in range(LISTS_MAX * 2):
        reader.read(parts([user(f"{number}")]))
    assert len(reader._lists) == LISTS_MAX
    reader.read(parts([user(f"long {number}") for number in range(10)]))
    assert max(map(len, reader._lists.values())) == 1
