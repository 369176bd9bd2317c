"""The named tuples of the package behave as those of `typing`."""

from __future__ import annotations

import copy
import inspect
import pickle
import typing
from typing import Any

import pytest

from plimsoll.light.named_tuple import NamedTuple


class Mark(NamedTuple):
    """A class at the top of a module, which pickle can find."""

    name: str
    depth_m: float = 0.5

    @property
    def is_deep(self) -> bool:
        """Uses a field."""
        return self.depth_m > 1


class Theirs(typing.NamedTuple):
    """The same by the standard library."""

    name: str
    depth_m: float = 0.5


@pytest.mark.parametrize(
    ("plain", "named"),
    [(("a",), {}), (("a", 2), {}), ((), {"name": "a", "depth_m": 3}), ((), {}), ((1, 2, 3), {}), (("a",), {"x": 1})],
)
def test_calls_are_as_of_the_standard_library(plain: tuple[Any, ...], named: dict[str, Any]) -> None:
    """By position and by name, with defaults, and with wrong arguments: the same values, and the same words."""
    assert outcome(Mark, plain, named) == outcome(Theirs, plain, named)


def outcome(cls: Any, plain: tuple[Any, ...], named: dict[str, Any]) -> str:
    """The instance, or the error, in words."""
    try:
        return repr(cls(*plain, **named)).replace(cls.__name__, "")
    except TypeError as error:
        return str(error).replace(cls.__name__, "")


def test_values_are_as_of_the_standard_library() -> None:
    """Fields, copies with changes, data by name, equality with tuples, order, hash and methods of its own."""
    one, theirs = Mark("a", 2), Theirs("a", 2)
    assert one == ("a", 2) == theirs
    assert hash(one) == hash(theirs)
    assert (one.name, one.depth_m, one.is_deep) == ("a", 2, True)
    assert one._replace(name="b") == theirs._replace(name="b")
    assert one._asdict() == theirs._asdict()
    assert Mark._make(["a", 2]) == one
    assert one < Mark("b")
    assert pickle.loads(pickle.dumps(one)) == copy.copy(one) == copy.deepcopy(one) == one
    assert type(copy.copy(one)) is Mark
    assert not hasattr(one, "__dict__")


def test_wrong_changes_are_errors() -> None:
    """Fields that there are not, and values that are too many."""
    with pytest.raises(ValueError, match="unexpected field names: \\['depth'\\]"):
        Mark("a")._replace(depth=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="Expected 2 arguments, got 3"):
        Mark._make([1, 2, 3])
    with pytest.raises(AttributeError):
        Mark("a").name = "b"  # type: ignore[misc]


def test_the_classes_have_the_same_shape() -> None:
    """What pattern matching, documents and other programs read."""
    for name in ("_fields", "_field_defaults", "__match_args__", "__slots__"):
        assert getattr(Mark, name) == getattr(Theirs, name)
    ours, theirs = inspect.signature(Mark), inspect.signature(Theirs)
    assert [(p.name, p.kind, p.default) for p in ours.parameters.values()] == [
        (p.name, p.kind, p.default) for p in theirs.parameters.values()
    ]
    assert ours.parameters["depth_m"].annotation == "float"
    assert Mark.__doc__ == "A class at the top of a module, which pickle can find."


def test_fields_without_a_default_come_first() -> None:
    """As the standard library says it."""
    with pytest.raises(TypeError, match="default"):

        class _Wrong(NamedTuple):  # type: ignore[misc]
            name: str = ""
            depth_m: float


def test_nothing_is_compiled_before_the_class_is_called() -> None:
    """After the first call there is a function that stays."""

    class Fresh(NamedTuple):
        name: str

    assert not isinstance(vars(Fresh)["__new__"], staticmethod)
    assert Fresh("a").name == "a"
    new = vars(Fresh)["__new__"]
    assert isinstance(new, staticmethod)
    assert Fresh("b").name == "b"
    assert vars(Fresh)["__new__"] is new
