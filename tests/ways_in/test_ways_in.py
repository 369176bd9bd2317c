"""What holds for every way in: the same promises, and the same view for the same history."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import pytest

import plimsoll
from plimsoll.compaction.task import SummaryRequest
from ways_in.ways import WAYS, SyncOfItems, Way, as_chat, history, is_installed, openings

BUDGET = 4_000
Make = Callable[..., Way]


def marked(names: Iterable[str]) -> list[Any]:
    """The ways, those that need a framework marked: `make test-frameworks` runs them and no others."""
    return [pytest.param(name, marks=[pytest.mark.framework] if WAYS[name][1] else []) for name in names]


@pytest.fixture(params=marked(WAYS))
def make(request: pytest.FixtureRequest, tmp_path: Any) -> Any:
    """Makes one of the ways, over the same store each time; the frameworks that are not installed are left out."""
    made, framework = WAYS[request.param]
    if framework is not None and not is_installed(framework):
        pytest.skip(f"{framework} is not installed: make test-frameworks")
    opened: list[Way] = []

    def making(**options: Any) -> Way:
        way = made(str(tmp_path / "store"), **{"max_tokens": BUDGET, **options})
        opened.append(way)
        return way

    yield making
    for way in opened:
        way.close()


def tokens(view: list[Any]) -> int:
    """How long a view is."""
    return plimsoll.count_tokens(view)


@pytest.mark.slow
def test_fits_and_is_valid(make: Make) -> None:
    """Whatever the length of the history, what is sent is within the budget and what the provider takes."""
    way = make()
    for given in openings(history(30)):
        view = way.sent(given)
        assert tokens(view) <= BUDGET
        assert plimsoll.validate(view) == []


def test_what_fits_is_unchanged(make: Make) -> None:
    """A history within the budget is sent as it is."""
    given = history(2, size=10)

    assert make().sent(given) == given


@pytest.mark.slow
def test_pairs(make: Make) -> None:
    """Each call is sent with its result, and each result with its call."""
    view = make().sent(history(24))
    calls = [call["id"] for message in view for call in message.get("tool_calls") or ()]

    assert calls
    assert [message["tool_call_id"] for message in view if message["role"] == "tool"] == calls


@pytest.mark.slow
def test_newest_turn_and_system_text(make: Make) -> None:
    """The system text and the user's newest message are whole in every view."""
    given = [*history(24), {"role": "assistant", "content": "Done."}, {"role": "user", "content": "And pier 40? " * 40}]
    view = make().sent(given)

    assert view[0] == given[0]
    assert view[-1] == given[-1]


@pytest.mark.slow
@pytest.mark.parametrize("role", ["user", "tool"])
def test_an_oversized_newest_message(make: Make, role: str) -> None:
    """A newest message that is larger than the budget is cut, and the rest is still sent."""
    given = history(3)
    given = [*given, {"role": "user", "content": "look " * 9_000}] if role == "user" else given
    if role == "tool":
        given[-1] = {**given[-1], "content": "volts " * 9_000}
    view = make().sent(given)

    assert tokens(view) <= BUDGET
    assert plimsoll.validate(view) == []
    assert view[-1]["role"] == role


@pytest.mark.slow
def test_idempotent(make: Make) -> None:
    """The same list again gives the same view."""
    way, given = make(), history(24)

    assert way.sent(given) == way.sent(given)


@pytest.mark.slow
def test_input_is_not_modified(make: Make) -> None:
    """The host's list and its messages stay as they are."""
    given, same = history(24), history(24)
    make().sent(given)

    assert given == same


@pytest.mark.slow
def test_prefix_stability(make: Make) -> None:
    """Between two compactions each view begins with the one before it."""
    way = make()
    views = [way.sent(given) for given in openings(history(40))]
    breaks = sum(later[: len(view)] != view for view, later in pairwise(views))

    assert breaks == len(way.session().compactions())
    assert 0 < breaks < len(views) / 3


@pytest.mark.slow
def test_resume(make: Make) -> None:
    """After the host was started again, the same history gives the same view, and goes on from it."""
    whole = openings(history(30))
    first = make()
    before = [first.sent(given) for given in whole[:-1]][-1]
    first.close()
    second = make()

    assert second.sent(whole[-2]) == before
    assert second.sent(whole[-1])[: len(before)] == before
    assert len(second.session().history()) >= len(whole[-1])


@pytest.mark.slow
def test_nothing_is_lost(make: Make) -> None:
    """The session holds every message whole, and finds what left the view."""
    way, given = make(), history(30)
    way.sent(given)

    assert as_chat(way.session().history())[: len(given)] == given
    assert any("02:03 lamp 17 at 9 volts" in hit.text for hit in way.session().recall("02:03 lamp 17"))


@pytest.mark.slow
def test_rollback(make: Make) -> None:
    """A compaction is undone with its session: the view is then based on what it was before."""
    way, given = make(max_tokens=12_000), history(9)
    before = way.sent(given)
    way.session().compact(target_tokens=2_000)
    assert tokens(way.sent(given)) <= 2_000
    way.session().rollback()

    assert way.sent(given) == before


def test_a_summariser_is_asked(make: Make) -> None:
    """The model that a way in was given writes the summary that is sent."""
    prose = "The light of pier 9 was looked at many times."

    view = make(summarizer=lambda _: prose).sent(history(24))

    assert prose in str(view)
    assert tokens(view) <= BUDGET


@pytest.mark.slow
def test_a_summariser_that_fails(make: Make) -> None:
    """A model that cannot be asked does not stop the call: rules write the summary."""

    def fails(_request: SummaryRequest) -> str:
        raise TimeoutError("the model is away")

    view = make(summarizer=fails).sent(history(24))

    assert tokens(view) <= BUDGET
    assert plimsoll.validate(view) == []


@pytest.mark.slow
def test_edited_history(make: Make) -> None:
    """When the host takes back its newest messages and goes on otherwise, what it took back is no longer sent."""
    way, given = make(), history(24)
    way.sent(given)
    other = [*given[:-3], {"role": "user", "content": "Stop. Look at pier 2 only."}]
    view = way.sent(other)

    assert view[-1] == other[-1]
    assert not any("call_23_0" in str(message) for message in view)


@pytest.mark.slow
@pytest.mark.parametrize("name", marked(name for name in WAYS if name != "sync"))
def test_all_give_the_same_view(name: str, tmp_path: Any) -> None:
    """For the same history, call by call, each way sends what `Session.sync` gives."""
    made, framework = WAYS[name]
    if framework is not None and not is_installed(framework):
        pytest.skip(f"{framework} is not installed: make test-frameworks")
    alone = SyncOfItems if name == "openai-agents" else WAYS["sync"][0]
    ways = [making(str(tmp_path / str(number)), max_tokens=BUDGET) for number, making in enumerate((alone, made))]
    for given in openings(history(30)):
        wanted, found = (way.sent(given) for way in ways)
        assert found == wanted
    for way in ways:
        way.close()


def check_loop(way: Way, calls: int) -> None:
    """Assert that a loop goes on for so many calls of a model, searches of what left between them, and nothing breaks."""
    before: list[Any] = []
    breaks = found = 0
    for number, given in enumerate(openings(history(calls))[:calls]):
        view = way.sent(given)
        assert tokens(view) <= BUDGET
        assert plimsoll.validate(view) == []
        breaks += view[: len(before)] != before
        before = view
        if number % 9 == 8:
            pier = number // 3
            line = f"{pier:02}:05 lamp {pier * 7 + 5} at 15 volts 0"
            hits = way.session().recall(line)
            assert line in str(view) or any(line in hit.text for hit in hits)
            found += bool(hits)
    assert breaks == len(way.session().compactions()) > 2
    assert found > 2
    assert as_chat(way.session().history())[: len(given)] == given


@pytest.mark.slow
def test_a_loop_with_searches(make: Make) -> None:
    """What the host or its model searches for between two calls changes no view, and is found until the end."""
    check_loop(make(), 50)


@pytest.mark.soak
def test_a_long_loop_with_searches(make: Make) -> None:
    """The same for 300 calls of a model, for every way in."""
    check_loop(make(), 300)
