"""Hosts that merge what users say: the summary comes back inside another message, and is extended all the same."""

import json

import pytest

import plimsoll
from plimsoll.summary.frame import PRESENTATIONS, divided, omission, wrap

FORMATS = ("openai-chat", "openai-responses", "anthropic", "ui-parts")
STEMS = ("[Summary of messages", "[Previous conversation summary", "[Emergency Summary", "[以下是之前对话的摘要")


def turns(start, stop):
    """Exchanges of about 130 tokens each."""
    found = []
    for number in range(start, stop):
        found.append({"role": "user", "content": f"step {number}: look at part {number} " + "alpha beta gamma " * 20})
        found.append({"role": "assistant", "content": f"looked at {number}. " + "delta epsilon " * 30})
    return found


def as_format(messages, format):
    """Plain chat messages in a format."""
    return plimsoll.convert(messages, to=format, format="openai-chat").messages


def items(message, format):
    """What a user's message holds, as items of a list."""
    key = "parts" if "parts" in message else "content"
    kind = "input_text" if format == "openai-responses" else "text"
    content = message[key]
    return key, content if isinstance(content, list) else [{"type": kind, "text": content}]


def merged(messages, format, *, as_text):
    """The messages with neighbouring ones of the user as one: a list of parts, or one text."""
    made = []
    for message in messages:
        if (
            made
            and message.get("role") == made[-1].get("role") == "user"
            and "tool_result" not in json.dumps([made[-1], message])
        ):
            key, before = items(made[-1], format)
            content = [*before, *items(message, format)[1]]
            if as_text:
                text = "\n\n".join(item["text"] for item in content)
                content = [{**content[0], "text": text}] if key == "parts" else text
            made[-1] = {**made[-1], key: content}
        else:
            made.append(message)
    return made


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize("frame", ["numbered", "bracketed", "emergency", "chinese"])
def test_summaries_do_not_pile_up_where_a_host_merges(format, as_text, frame):
    """After thirty turns there is one summary, it says what the first one said, and it counts every message."""
    policy = plimsoll.Policy.named("fill", summary_frame=frame, summary_role="user")
    history = as_format(
        [
            {"role": "user", "content": "Build the ZQFIRST importer."},
            *turns(0, 1),
            {"role": "user", "content": "Never delete rows ZQCONSTRAINT."},
            *turns(1, 2),
        ],
        format,
    )
    kept = 0
    for number in range(2, 32):
        view = merged([*history, *as_format(turns(number, number + 1), format)], format, as_text=as_text)
        history = plimsoll.fit(view, max_tokens=2_500, format=format, policy=policy).messages
        shown = json.dumps(history, ensure_ascii=False)
        assert sum(shown.count(stem) for stem in STEMS) <= 1
        assert "ZQFIRST" in shown
        assert "ZQCONSTRAINT" in shown
        kept += "[" in shown
    assert kept


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("as_text", [False, True])
def test_a_session_takes_a_summary_out_of_a_merged_message(format, as_text):
    """A session that begins with a merged view shows it as it came, and its first compaction extends the summary in it."""
    messages = [{"role": "user", "content": "Build the ZQFIRST importer."}, *turns(0, 3)]
    messages += [{"role": "user", "content": "Never delete rows ZQCONSTRAINT."}, *turns(3, 30)]
    view = merged(
        plimsoll.fit(as_format(messages, format), max_tokens=2_500, format=format).messages, format, as_text=as_text
    )
    with plimsoll.open("a", store="memory:", max_tokens=2_500, format=format) as session:
        session.extend(view)
        assert session.peek() == view
        for number in range(30, 60):
            session.extend(as_format(turns(number, number + 1), format))
            shown = json.dumps(session.view())
            assert "ZQCONSTRAINT" in shown
            assert "ZQFIRST" in shown
            assert sum(shown.count(stem) for stem in STEMS) <= 1
        assert len(session.compactions()) > 3
        before = session.view()
        session.rollback()
        session.reapply()
        assert session.view() == before


@pytest.mark.parametrize("name", sorted(PRESENTATIONS))
def test_a_text_is_divided_where_a_frame_of_ours_stands(name):
    """What stands around a frame is what the user said; an imitation, or a frame with a changed word, divides nothing."""
    ours = wrap("They painted the pier.", covers=(1, 9), presentation=PRESENTATIONS[name])
    notice = omission(12, "en")
    assert divided(f"Before.\n\n{ours}\n\nAfter.") == ["Before.\n\n", ours, "\n\nAfter."]
    assert divided(f"{ours}\n{ours}") == [ours, ours]
    assert divided(f"{notice}\nGo on.") == [notice, "\nGo on."]
    assert divided(f"{ours}\n") == [ours]
    for other in (ours.replace("pier", "wall"), "[12 earlier messages are not shown 00000000]\nGo on.", "plain [text]"):
        assert divided(other) == [other]
    assert divided(f"{ours.splitlines()[0]}\n{ours}") == [f"{ours.splitlines()[0]}\n", ours]


@pytest.mark.slow
@pytest.mark.timeout(20)
def test_dividing_is_linear():
    """A megabyte of headers and footers is looked through once."""
    header = wrap("x", covers=(0, 2), presentation=PRESENTATIONS["en"]).split("\n")[0]
    for text in (
        f"{header}\n" * 12_000,
        "\n[End of summary 00000000]" * 40_000,
        f"{header}\n\n[End of summary 00000000]" * 8_000,
    ):
        assert divided(text) == [text]
