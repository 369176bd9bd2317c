"""Recall in several sessions at once: one list, each hit with its session, and no session stands in the way of the others."""

from __future__ import annotations

from contextlib import closing

import pytest

import plimsoll
from plimsoll.errors import SessionNotFound, SessionSkipped, SettingError
from plimsoll.session import recalling
from plimsoll.session.finder import Finder
from plimsoll.session.open import history_of
from plimsoll.store.open import open_store

CODES = {"quay": "HARBOUR-7741", "lagoon": "LAGOON-9025", "mill": "MILL-1188"}
FILLER = "The crew painted the railing green and went home before the tide came in. "


@pytest.fixture
def store(tmp_path):
    """A store with three sessions, each of which tells its own code and when the bell is rung."""
    for name, code in CODES.items():
        with plimsoll.open(name, store=tmp_path, max_tokens=4_000) as session:
            session.append({"role": "user", "content": f"The code of the {name} is {code}. {FILLER}"})
            session.append({"role": "assistant", "content": f"Noted. At the {name} they ring the bell at noon."})
            session.append({"role": "user", "content": FILLER})
    return tmp_path


def names(hits):
    """The sessions of hits, in order."""
    return [hit.session for hit in hits]


@pytest.mark.parametrize("name", CODES)
def test_the_session_that_answers_is_first(store, name):
    """Though each session's best hit has its highest score; and its reference is read in that session."""
    hit = plimsoll.recall_sessions(f"what is the code of the {name}?", store=store)[0]

    assert (hit.session, hit.to_dict()["session"]) == (name, name)
    with plimsoll.open(hit.session, store=store, read_only=True) as session:
        assert CODES[name] in session.read(hit.reference)


def test_hits_of_all_sessions_are_one_list(store):
    """Best first, or in the order of the sessions; the newest session first where hits are equal."""
    hits = plimsoll.recall_sessions("when do they ring the bell", store=store)

    assert list(dict.fromkeys(names(hits))) == ["mill", "lagoon", "quay"]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    chosen = ["quay", "mill"]
    said = plimsoll.recall_sessions("code bell", store=store, sessions=chosen, order="said")
    assert [(hit.session, hit.position) for hit in said] == sorted(
        ((hit.session, hit.position) for hit in said), key=lambda pair: (chosen.index(pair[0]), pair[1])
    )
    assert {*names(said)} == {*chosen}


def test_all_texts_together_are_within_the_budget(store):
    """Fewer tokens, fewer hits; `limit` and the filters hold for the whole list."""
    everything = plimsoll.recall_sessions("code bell", store=store)
    few = plimsoll.recall_sessions("code bell", store=store, max_tokens=40)

    assert 0 < len(few) < len(everything)
    assert sum(plimsoll.count_tokens(hit.text) for hit in few) <= 40
    assert plimsoll.recall_sessions("code bell", store=store, limit=2) == everything[:2]
    assert {hit.voice for hit in plimsoll.recall_sessions("code bell", store=store, role="assistant")} == {"assistant"}


def test_what_two_sessions_have_is_given_once(store):
    """A fork repeats what its session says."""
    with plimsoll.open("quay", store=store) as session:
        session.fork(name="quay-2").close()

    hits = plimsoll.recall_sessions("HARBOUR-7741", store=store)
    assert len([hit for hit in hits if "HARBOUR-7741" in hit.text]) == 1


def test_a_session_that_cannot_be_read_is_left_out_with_a_warning(store):
    """A damaged one is named in the warning; one that is being written is searched."""
    log = next(path for path in (store / "lagoon").iterdir() if path.is_file() and path.stat().st_size > 500)
    log.write_bytes(b"{}\n" * 40)

    with plimsoll.open("quay", store=store) as busy:
        busy.append({"role": "user", "content": "The gate of the quay is open."})
        with pytest.warns(SessionSkipped, match="lagoon") as told:
            hits = plimsoll.recall_sessions("code of the lagoon or the quay, gate", store=store)
    assert told[0].message.session == "lagoon"
    assert {*names(hits)} == {"quay", "mill"}
    assert any("gate" in hit.text for hit in hits)


def test_what_is_asked_wrongly_is_refused(store):
    """Also where no session would be searched."""
    for wrong in (
        {"query": 5},
        {"query": "x", "limit": 0},
        {"query": "x", "sessions": "quay"},
        {"query": "x", "order": "y"},
    ):
        with pytest.raises(SettingError):
            plimsoll.recall_sessions(**{"store": "memory:", **wrong})
    with pytest.raises(SessionNotFound):
        plimsoll.recall_sessions("x", store=store, sessions=["nobody"])
    assert (
        plimsoll.recall_sessions("x", store="memory:") == plimsoll.recall_sessions("x", store=store, sessions=[]) == []
    )


@pytest.fixture
def searched(monkeypatch):
    """The names of the sessions whose texts are read."""
    found = []
    find = Finder.find
    monkeypatch.setattr(
        Finder,
        "find",
        lambda self, query, said, **given: found.append(said.log.name) or find(self, query, said, **given),
    )
    return found


def test_texts_are_read_only_where_they_may_be_among_the_best(store, searched):
    """Sessions are compared by their indexes; one whose statements have less of the question is not searched once all is found."""
    assert names(plimsoll.recall_sessions("code of the mill MILL-1188", store=store, limit=1)) == ["mill"]
    assert searched == ["mill"]
    assert plimsoll.recall_sessions("zeppelin", store=store) == []
    assert searched == ["mill"]


def test_no_further_session_is_searched_for_the_last_few_tokens(store, searched):
    """An excerpt as short as what is left is worth no search."""
    with plimsoll.open("pier", store=store) as session:
        session.append({"role": "user", "content": f"At the pier the bell of the fog is rung by hand. {FILLER * 2}"})
    query = "who rings the bell of the pier in the fog?"
    best = plimsoll.recall_sessions(query, store=store, limit=1)[0]
    searched.clear()

    tokens = plimsoll.count_tokens(best.text)
    assert [best] == plimsoll.recall_sessions(query, store=store, max_tokens=tokens + 1)
    assert searched == ["pier"]


def test_many_sessions_cost_each_a_few_choices(monkeypatch):
    """What was gathered is not compared again after each further session: of four times as many, about four times as much."""
    looked = []
    words = recalling.words
    monkeypatch.setattr(recalling, "words", lambda text: looked.append(text) or words(text))
    costs = []
    for count in (10, 40):
        place = f"memory:many{count}"
        for number in range(count):
            with plimsoll.open(f"s{number}", store=place) as session:
                session.append({"role": "user", "content": f"Berth {number} is taken by ship {number * 7}x{number}."})
        looked.clear()
        assert len(plimsoll.recall_sessions("which berth is taken?", store=place, max_tokens=20_000)) == count
        costs.append(len(looked))

    assert costs[1] < 6 * costs[0]


def test_what_is_searched_is_the_history_as_the_session_has_it(tmp_path):
    """After compactions, an edit, an undoing and more edits: without what was removed, as it was reworded last."""
    told = [
        {"role": ("user", "assistant")[n % 2], "content": f"Berth {n} is taken by ship {n * 7}. {FILLER}"}
        for n in range(30)
    ]
    with plimsoll.open("s", store=tmp_path, max_tokens=600) as session:
        session.sync(told)
        session.compact()
        told[4] = {"role": "user", "content": f"The berth of the Norrvik is forty. {FILLER}"}
        session.sync([*told[:2], *told[4:]])
        _same_as_view(session, tmp_path)
        session.rollback()
        _same_as_view(session, tmp_path)
        session.sync([*told[:2], *told[4:6], *told[8:]])
        _same_as_view(session, tmp_path)

    texts = [hit.text for hit in plimsoll.recall_sessions("berth taken ship Norrvik", store=tmp_path, max_tokens=4_000)]
    assert any("forty" in text for text in texts)
    assert any("Berth 8 is" in text for text in texts)
    assert not any(f"Berth {gone} is" in text for gone in (2, 3, 4, 6, 7) for text in texts)


def _same_as_view(session, place):
    with closing(open_store(place).open("s", writable=False)) as log:
        said, meter = history_of(log)
    state = session._recorder.state
    assert (said.event, said.base, said.history.branch) == (state.event, state.base, state.history.branch)
    assert (meter.counter.name, meter.format) == (session._recorder.meter.counter.name, state.format)
