"""Whatever a host's messages are made of: a view and a session of JSON's own types, or one of plimsoll's errors."""

from __future__ import annotations

import collections
import enum
import json
import random
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import pytest

import plimsoll
from amounts import examples
from generated import FORMATS, maker_for
from plimsoll.errors import FormatError, PlimsollError, SettingError
from plimsoll.limits import WHOLE_NUMBER_BITS_MAX


class _Text(str):
    __slots__ = ()


class _Lying(str):
    """Text that says of itself what is not so."""

    __slots__ = ()

    def __len__(self) -> int:
        return 10**9

    def __eq__(self, other: object) -> bool:
        return False

    __hash__ = str.__hash__


class _Failing(str):
    """Text that cannot be looked at."""

    __slots__ = ()

    def _fail(self, *_: object) -> Any:
        raise RuntimeError("broken")

    __eq__ = __hash__ = __str__ = __len__ = _fail


class _Role(enum.StrEnum):
    user = "user"


class _Object(dict[str, Any]):
    pass


class _FailingObject(dict[str, Any]):
    def _fail(self, *_: object) -> Any:
        raise RuntimeError("broken")

    get = items = keys = __getitem__ = __iter__ = _fail


class _FailingList(list[Any]):
    def __iter__(self) -> Iterator[Any]:
        raise RuntimeError("broken")


class _Proxy(Mapping[str, Any]):
    """A mapping that is no dict, and may fail."""

    def __init__(self, value: Mapping[str, Any], *, fails: bool) -> None:
        self._value, self._fails = value, fails

    def __getitem__(self, key: str) -> Any:
        if self._fails:
            raise RuntimeError("broken")
        return self._value[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._value)

    def __len__(self) -> int:
        return len(self._value)


class _FailingModel:
    def model_dump(self, **_: object) -> Any:
        raise RuntimeError("broken")


class _EndlessModel:
    def model_dump(self, **_: object) -> Any:
        return self


class _FailingAttributes:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("broken")


def _cycle() -> list[Any]:
    found: list[Any] = []
    found += [found, {"again": found}]
    return found


def _deep() -> list[Any]:
    found: list[Any] = []
    for _ in range(50_000):
        found = [found]
    return found


BLOCK = {"type": "text", "text": "hello"}
ODD: tuple[Callable[[], Any], ...] = (
    *(lambda value=value: value for value in (None, True, -1, 10**5_000, -(10**400), 1.5, float("nan"), float("-inf"))),
    *(lambda value=value: value for value in (b"bytes", {1, 2}, frozenset(), (), [], {}, [[]], [None], {"": None})),
    *(
        lambda value=value: value
        for value in ({1: 2}, {None: 1}, {"\ud800": "\udfff"}, "\ud800", "\0", "", object(), int, ...)
    ),
    lambda: [{"type": "text", "text": 10**5_000}],
    lambda: {"deep": [{"n": 1 << WHOLE_NUMBER_BITS_MAX}]},
    lambda: _Text("user"),
    lambda: _Lying("user"),
    lambda: _Failing("user"),
    lambda: _Role.user,
    lambda: _Object(role="user", content="hello"),
    lambda: [_Object(BLOCK)],
    lambda: [_Proxy(BLOCK, fails=False)],
    lambda: [_Proxy(BLOCK, fails=True)],
    lambda: _FailingObject(BLOCK),
    lambda: _FailingList([BLOCK]),
    lambda: types.MappingProxyType(BLOCK),
    lambda: collections.UserDict(BLOCK),
    lambda: collections.UserString("user"),
    lambda: collections.deque([BLOCK]),
    lambda: (part for part in [BLOCK]),
    lambda: types.SimpleNamespace(role="user", content="hello"),
    _FailingModel,
    _EndlessModel,
    _FailingAttributes,
    _cycle,
    _deep,
)
"""Makers of values that a place in a message may hold."""

CASES = 160


def _history(rng: random.Random, format: str) -> list[dict[str, Any]]:
    maker = maker_for(format, rng)
    maker.user("Please look at the berth. " * 6, image=False)
    maker.step("", [(("call_1", "read_file", {"path": "/srv/a.py"}), "word " * 40, False)], thinks=True)
    maker.answer("Looked. " * 12, thinks=False)
    maker.user("And now?", image=True)
    wires: list[dict[str, Any]] = maker.wires
    return wires


def _places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield place
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from _places(item, (*place, key))


def _planted(value: Any, place: tuple[Any, ...], odd: Any) -> Any:
    if not place:
        return odd
    made = dict(value) if isinstance(value, dict) else list(value)
    made[place[0]] = _planted(value[place[0]], place[1:], odd)
    return made


def _is_own(value: Any) -> bool:
    """True for JSON's own types at every depth."""
    if type(value) is dict:
        return all(type(key) is str and _is_own(item) for key, item in value.items())
    if type(value) is list:
        return all(map(_is_own, value))
    return type(value) in (str, int, float, bool, type(None))


def _fit(messages: Any, format: str) -> None:
    for budget in (60, 400):
        fitted = plimsoll.fit(messages, max_tokens=budget, format=format)
        assert _is_own(fitted.messages)
        assert plimsoll.validate(fitted.messages, format=format) == []
        json.dumps(fitted.messages, allow_nan=False)


def _count(messages: Any, format: str) -> None:
    assert plimsoll.count_tokens(messages, format=format) >= 0


def _validate(messages: Any, format: str) -> None:
    assert all(map(str, plimsoll.validate(messages, format=format)))


def _use_session(messages: Any, format: str, place: str) -> None:
    with plimsoll.open("one", store=place, max_tokens=100, format=format, project=False) as session:
        session.extend(messages)
        view, history = list(session.view()), session.history()
        assert _is_own(view)
        assert _is_own(history)
    with plimsoll.open("one", store=place, project=False) as again:
        assert again.history() == history
        assert list(again.view()) == view


def _synchronise(messages: Any, format: str) -> None:
    with plimsoll.open("one", store="memory:", max_tokens=100, format=format, project=False) as session:
        for given in (messages[:-1], messages, messages):
            assert plimsoll.validate(list(session.sync(given)), format=format) == []


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
def test_odd_objects_give_a_typed_error_or_plain_data(format: str, tmp_path: Any) -> None:
    """One odd object anywhere in a history; some histories are taken and some refused."""
    rng = random.Random(format)
    base = _history(rng, format)
    places = [place for place in _places(base) if place]  # an error of the host's own list is the host's
    taken: collections.Counter[Callable[..., object]] = collections.Counter()
    cases = examples(CASES)
    for number in range(cases):
        messages = _planted(base, rng.choice(places), rng.choice(ODD)())
        for call in (_fit, _count, _validate):
            taken[call] += _is_taken(call, messages, format)
        taken[_use_session] += _is_taken(_use_session, messages, format, str(tmp_path / str(number)))
        taken[_synchronise] += _is_taken(_synchronise, messages, format)
    assert all(0 < taken[call] < cases for call in (_fit, _count, _validate, _use_session, _synchronise))


def _is_taken(call: Callable[..., object], messages: Any, format: str, *more: str) -> bool:
    """Whether the call took the messages; if not, it said why with one of plimsoll's errors."""
    with suppress(PlimsollError):
        call(messages, format, *more)
        return True
    return False


NUMBERS = {
    "digits": 10**5_000,
    "bits": -(1 << (WHOLE_NUMBER_BITS_MAX + 1)),
    "nan": float("nan"),
    "infinite": float("-inf"),
}


@pytest.mark.parametrize("kind", NUMBERS)
def test_a_number_that_json_cannot_hold_is_refused(kind: str) -> None:
    """Neither a request nor a record could hold it, so that `validate` and a session say the same as `fit`."""
    messages = [
        {"role": "user", "content": "hello"},
        {"role": "user", "content": [{"type": "text", "n": [NUMBERS[kind]]}]},
    ]
    calls: list[Callable[[], object]] = [
        lambda: plimsoll.fit(messages, max_tokens=100),
        lambda: plimsoll.validate(messages),
        lambda: plimsoll.open("one", store="memory:", max_tokens=100).extend(messages),
    ]
    for call in calls:
        with pytest.raises(FormatError, match="cannot be sent as JSON") as refused:
            call()
        assert refused.value.position == 1


@pytest.mark.parametrize(
    "odd", [b"bytes", {1}, object(), _FailingModel(), _cycle(), _deep()], ids=lambda odd: type(odd).__name__
)
def test_odd_system_text_and_tools_are_refused(odd: Any) -> None:
    """A system block and a tool's schema are held to what JSON can hold, as messages are."""
    messages = [{"role": "user", "content": "hello"}]
    system = [{"type": "text", "text": odd}]
    tool = {"name": "look", "input_schema": {"type": "object", "properties": odd}}
    with pytest.raises(FormatError):
        plimsoll.fit(messages, max_tokens=500, format="anthropic", system=system)
    with pytest.raises(FormatError):
        plimsoll.open("one", store="memory:", max_tokens=500, format="anthropic", system=system)
    with pytest.raises(SettingError, match="tools"):
        plimsoll.fit(messages, max_tokens=500, format="anthropic", tools=[tool])


@pytest.mark.parametrize("kind", [None, 7, ""])
def test_an_image_without_its_kind_becomes_text(kind: Any) -> None:
    """A message of texts and images alone was taken for sound without a look at the images."""
    image = {"type": "image", "source": {"type": "base64", "media_type": kind, "data": "iVBORw0KGgo="}}
    messages = [{"role": "user", "content": [{"type": "text", "text": "hello"}, image]}]
    view = plimsoll.fit(messages, max_tokens=5_000, format="anthropic").messages

    assert plimsoll.validate(view, format="anthropic") == []
    assert [block["type"] for block in view[0]["content"]] == ["text", "text"]


def test_subclasses_of_text_are_read_as_text() -> None:
    """What a session shows is the same before and after it was written down."""
    with plimsoll.open("one", store="memory:odd", max_tokens=1_000) as session:
        session.append({"role": _Role.user, "content": [{"type": "text", "text": _Lying("hello")}]})
        shown = list(session.view())
    assert _is_own(shown)
    assert shown == [{"role": "user", "content": [{"type": "text", "text": "hello"}]}]
