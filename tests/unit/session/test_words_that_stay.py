"""Words that only a summary says are never lost: each compaction carries them on, recall finds them, a reference reads them."""

import json

import pytest

import plimsoll
from plimsoll.transcripts.detect import load_file

FORMATS = ("openai-chat", "openai-responses", "anthropic", "ui-parts")
STORES = ("memory:", "jsonl", "sqlite")
EDIT = "The contract number is ZQEDIT. Never drop the production database."


def turns(start, stop):
    """Exchanges of about 250 tokens each."""
    found = []
    for number in range(start, stop):
        found.append({"role": "user", "content": f"step {number}: look at part {number} " + "alpha beta gamma " * 40})
        found.append({"role": "assistant", "content": f"looked at {number}. " + "delta epsilon " * 60})
    return found


def as_format(messages, format):
    """Plain chat messages in a format."""
    return plimsoll.convert(messages, to=format, format="openai-chat").messages


def go_on(session, start, stop):
    """Say more; whether the marked words were in every view after a compaction."""
    shown = []
    for number in range(start, stop):
        before = len(session.compactions())
        session.extend(as_format(turns(number, number + 1), session.format))
        view = json.dumps(session.view(), ensure_ascii=False)
        if len(session.compactions()) > before:
            shown.append(view)
    return shown


def found_and_read(session, words):
    """What recall finds of some words, read back whole by its reference."""
    hits = [hit for hit in session.recall(words) if words in hit.text]
    return [session.read(hit.reference) for hit in hits]


def place(store, tmp_path):
    """A store of each kind."""
    return {"memory:": "memory:", "jsonl": tmp_path, "sqlite": f"sqlite:///{tmp_path}/s.db"}[store]


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("store", STORES)
def test_an_edited_summary_is_carried_on(format, store, tmp_path):
    """What a person wrote into a summary is in the view after every later compaction, and found once it left."""
    with plimsoll.open("a", store=place(store, tmp_path), max_tokens=4000, format=format) as session:
        session.extend(as_format(turns(0, 12), format))
        plan = session.preview()
        session.compact(plan.with_summary(f"{EDIT}\n{plan.summary}"))
        views = go_on(session, 12, 40)

        assert len(views) >= 3
        assert all("ZQEDIT" in view for view in views)
        assert session.compactions()[0].written == f"{EDIT}\n{plan.summary}"
    with plimsoll.open("a", store=place(store, tmp_path)) if store != "memory:" else session as again:
        if store != "memory:":
            assert any(EDIT in text for text in found_and_read(again, "ZQEDIT")) or "ZQEDIT" in str(again.peek())
            assert all("ZQEDIT" in view for view in go_on(again, 40, 50))


@pytest.mark.slow
def test_an_edit_that_does_not_fit_is_found():
    """Of an edited summary that is longer than its room every word is found, and read back as it was written."""
    text = "\n".join(f"Fact {number}: the locker ZQ{number:04d} is at berth {number * 7}." for number in range(900))
    with plimsoll.open("a", store="memory:", max_tokens=4000) as session:
        session.extend(turns(0, 12))
        session.compact(session.preview().with_summary(text))
        for number in (0, 449, 899):
            assert text in found_and_read(session, f"ZQ{number:04d}") or f"ZQ{number:04d}" in str(session.view())
        assert "ZQ0449" not in str(session.view())
        go_on(session, 12, 30)
        assert text in found_and_read(session, "ZQ0449")


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
def test_a_models_summary_is_carried_on_by_rules(format):
    """With the model down, what it said is in the view after every later compaction."""
    asked = []

    def model(request):
        asked.append(request)
        if len(asked) == 1:
            return "The contract number is ZQEDIT; never drop production."
        raise TimeoutError("down")

    with plimsoll.open("a", store="memory:", max_tokens=4000, summarizer=model, format=format) as session:
        session.extend(as_format(turns(0, 12), format))
        session.view()
        views = go_on(session, 12, 40)

    assert len(views) >= 3
    assert all("ZQEDIT" in view for view in views)


@pytest.mark.slow
def test_a_models_summary_is_carried_on_by_a_model_that_forgets_it():
    """A model that does not say again what its last summary said: those sentences stand beside its prose, and are found."""
    said = iter(
        ["The contract number is ZQEDIT; never drop production.", *(f"Crane work {n} goes on." for n in range(90))]
    )
    with plimsoll.open("a", store="memory:", max_tokens=4000, summarizer=lambda _: next(said)) as session:
        session.extend(turns(0, 12))
        session.view()
        views = go_on(session, 12, 40)
        assert len(views) >= 3
        assert all("ZQEDIT" in view for view in views)
        assert all(view.count("ZQEDIT") == 1 for view in views)
        assert "Crane work 0 goes on." in found_and_read(session, "Crane work 0") or "Crane work 0" in views[-1]


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("frame", ["numbered", "bracketed", "emergency", "chinese"])
def test_a_session_goes_on_from_a_fitted_view(format, frame):
    """A session that begins with a view that `fit` made keeps the facts of its summary through every compaction."""
    policy = plimsoll.Policy.named("fill", summary_frame=frame)
    history = [
        {"role": "user", "content": "Build the ZQFIRST importer."},
        *turns(0, 5),
        {"role": "user", "content": "Never delete customer rows ZQCONSTRAINT; the ticket is ZQ-4431."},
        *turns(5, 30),
    ]
    view = plimsoll.fit(as_format(history, format), max_tokens=4000, format=format, policy=policy).messages
    with plimsoll.open("a", store="memory:", max_tokens=4000, format=format) as session:
        session.extend(view)
        assert "ZQCONSTRAINT" in json.dumps(session.view())
        views = go_on(session, 30, 60)
        assert len(views) >= 3
        assert all("ZQCONSTRAINT" in view and "ZQFIRST" in view for view in views)


@pytest.mark.slow
def test_another_tools_summary_is_carried_on(tmp_path):
    """What an imported session's own tool had summarised is in the view after every compaction of ours, and found."""
    lines = [
        {"type": "user", "uuid": "u1", "parentUuid": None, "sessionId": "s", "message": {"role": "user", "content": "Old work."}},
        {"type": "system", "subtype": "compact_boundary", "uuid": "b1", "parentUuid": None, "logicalParentUuid": "u1",
         "sessionId": "s", "compactMetadata": {"trigger": "auto", "preTokens": 100}},
        {"type": "user", "uuid": "u2", "parentUuid": "b1", "sessionId": "s", "isCompactSummary": True,
         "message": {"role": "user", "content": "This session is continued. The vault code is ZQVAULT-9; the owner is Ana."}},
    ]  # fmt: skip
    before = "u2"
    for number, message in enumerate(turns(0, 12)):
        lines.append({"type": message["role"], "uuid": f"n{number}", "parentUuid": before, "sessionId": "s",
                      "message": {"role": message["role"], "content": message["content"]}})  # fmt: skip
        before = f"n{number}"
    raw = "".join(
        f"{json.dumps({'timestamp': '2026-01-01T00:00:00Z', 'cwd': '/x', 'version': '2', **line})}\n" for line in lines
    )
    assert load_file(raw.encode()).compactions
    from plimsoll.session.transfer.import_file import import_file

    with import_file(raw.encode(), name="x", store="memory:", max_tokens=4000) as session:
        assert "ZQVAULT" in str(session.view())
        session.compact()
        assert "ZQVAULT" in str(session.view())
        views = go_on(session, 12, 40)
        assert len(views) >= 3
        assert all("ZQVAULT-9" in view for view in views)
        assert (
            "User requests" not in views[-1].partition("ZQVAULT")[0]
            or "ZQVAULT" not in views[-1].partition("User requests")[2]
        )


def test_a_summary_that_was_undone_is_still_found():
    """Rolling back changes the view; what was written stays content of the log."""
    with plimsoll.open("a", store="memory:", max_tokens=4000) as session:
        session.extend(turns(0, 12))
        session.compact(session.preview().with_summary(EDIT))
        session.rollback()
        assert EDIT in found_and_read(session, "ZQEDIT")
        with pytest.raises(plimsoll.errors.ReferenceNotFound):
            session.read("c1-00000000")
        (hit,) = [hit for hit in session.recall("ZQEDIT") if hit.voice == "summary"]
        assert "ZQEDIT" in session.call_tool("read", {"reference": hit.reference})
        assert "ZQEDIT" in session.call_tool("recall", {"query": "ZQEDIT"})


def test_words_of_a_summary_on_show_are_not_found_twice():
    """While the view says the whole of what was written, recall looks elsewhere."""
    with plimsoll.open("a", store="memory:", max_tokens=4000) as session:
        session.extend(turns(0, 12))
        session.compact(session.preview().with_summary(EDIT))
        assert EDIT in str(session.view())
        assert session.recall("ZQEDIT") == []
