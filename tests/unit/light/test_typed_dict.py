"""The typed dictionaries of the package say what those of `typing` say."""

from __future__ import annotations

import typing

from plimsoll.light.typed_dict import TypedDict


class Berth(TypedDict, total=False):
    """A place on a quay."""

    name: str
    depth_m: float | None


class Theirs(typing.TypedDict, total=False):
    """The same by the standard library."""

    name: str
    depth_m: float | None


def test_hints_and_instances_are_as_of_the_standard_library() -> None:
    """Fields with their types, whether all are needed, and plain dictionaries as instances."""
    assert typing.get_type_hints(Berth) == typing.get_type_hints(Theirs)
    assert list(Berth.__annotations__) == list(Theirs.__annotations__) == ["name", "depth_m"]
    assert Berth.__total__ is Theirs.__total__ is False
    assert Berth.__name__ == "Berth"
    assert Berth.__doc__ == "A place on a quay."
    assert Berth(name="a") == Theirs(name="a") == {"name": "a"}
    assert type(Berth(name="a")) is type(Theirs(name="a")) is dict


def test_annotations_are_not_compiled() -> None:
    """A class statement leaves them as they are written, which is what makes it fast."""
    assert Berth.__annotations__["depth_m"] == "float | None"
