"""The data classes of the package behave as the standard library's."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from functools import cached_property
from typing import Any

import pytest

from plimsoll.light import dataclass as quick


def classes(library: Any) -> dict[str, type]:
    """The same classes by one module's decorator: what the package has of kinds of fields and options."""

    @library.dataclass(frozen=True, slots=True, kw_only=True)
    class Frozen:
        """Docs."""

        number: int
        words: list[str] = library.field(default_factory=list)
        text: str = "x"
        secret: str = library.field(default="s", repr=False, compare=False)

    @library.dataclass(frozen=True, slots=True, kw_only=True)
    class Derived(Frozen):
        """Docs."""

        more: int = 3

    @library.dataclass(slots=True)
    class Open:
        """Docs."""

        number: int
        text: str = "x"
        made: dict[str, int] = library.field(default_factory=dict)
        double: int = library.field(init=False)
        fixed: int = library.field(init=False, default=7)

        def __post_init__(self) -> None:
            self.double = 2 * self.number

    @library.dataclass(frozen=True, kw_only=True, repr=False)
    class Unslotted:
        """Docs."""

        number: int

        @cached_property
        def double(self) -> int:
            return 2 * self.number

    @library.dataclass(slots=True, eq=False)
    class Same:
        """Docs."""

        number: int = 1

    return {cls.__name__: cls for cls in (Frozen, Derived, Open, Unslotted, Same)}


OURS, THEIRS = classes(quick), classes(dataclasses)
GIVEN: list[tuple[str, dict[str, Any]]] = [
    ("Frozen", {"number": 1}),
    ("Frozen", {"number": 2, "words": ["a"], "text": "y", "secret": "t"}),
    ("Derived", {"number": 1, "more": 4}),
    ("Open", {"number": 1, "text": "y"}),
    ("Unslotted", {"number": 4}),
    ("Same", {}),
]


@pytest.mark.parametrize(
    ("plain", "named"),
    [
        ((1,), {}),
        ((1, "y", {"z": 1}), {}),
        ((1,), {"text": "y"}),
        ((), {}),
        ((1,), {"number": 1}),
        ((1, 2, 3, 4), {}),
        ((1,), {"fixed": 2}),
    ],
)
def test_the_first_calls_and_those_that_are_compiled_are_alike(plain: Any, named: dict[str, Any]) -> None:
    """By position and by name, with too few arguments, too many, one twice and one that is none: the standard library's words."""
    cls, theirs = classes(quick)["Open"], THEIRS["Open"]
    for _ in range(quick.CALLS_UNCOMPILED + 2):
        assert outcome(cls, plain, named) == outcome(theirs, plain, named)


def outcome(cls: type, plain: Any, named: dict[str, Any]) -> str:
    """The instance, or the error, in words."""
    try:
        return repr(cls(*plain, **named))
    except TypeError as error:
        return str(error)


@pytest.mark.parametrize(("name", "given"), GIVEN)
def test_instances_are_as_the_standard_library_makes_them(name: str, given: dict[str, Any]) -> None:
    """Values, representation, fields as data, copies with changes, and equality."""
    ours, theirs = OURS[name](**given), THEIRS[name](**given)
    assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
    if type(theirs).__repr__ is not object.__repr__:
        assert repr(ours) == repr(theirs)
    changed = dataclasses.replace(ours, number=9)
    assert dataclasses.asdict(changed) == dataclasses.asdict(dataclasses.replace(theirs, number=9))
    assert (ours == OURS[name](**given)) is (theirs == THEIRS[name](**given))
    assert ours != changed
    assert ours.__eq__(object()) is NotImplemented


@pytest.mark.parametrize(("name", "given"), GIVEN)
def test_the_functions_of_the_module_do_what_those_of_the_standard_library_do(name: str, given: dict[str, Any]) -> None:
    """Fields with their options, fields as data, and copies with changes: of our classes, by ours and by theirs."""
    one = OURS[name](**given)
    assert [field.name for field in quick.fields(one)] == [field.name for field in dataclasses.fields(one)]
    assert list(map(options, dataclasses.fields(OURS[name]))) == list(map(options, dataclasses.fields(THEIRS[name])))
    assert quick.asdict(one) == dataclasses.asdict(one)
    assert quick.asdict(quick.replace(one, number=9)) == dataclasses.asdict(dataclasses.replace(one, number=9))
    assert quick.is_dataclass(one)
    assert quick.is_dataclass(OURS[name])
    assert not quick.is_dataclass(THEIRS[name])


def options(field: dataclasses.Field[Any]) -> dict[str, Any]:
    """What a field of the standard library says of itself."""
    return {name: getattr(field, name) for name in dataclasses.Field.__slots__}


def test_fields_that_are_not_given_are_not_replaced() -> None:
    """As the standard library refuses it."""
    for library, cls in ((quick, OURS["Open"]), (dataclasses, THEIRS["Open"])):
        with pytest.raises(ValueError, match="field fixed is declared with init=False"):
            library.replace(cls(number=1), fixed=2)  # type: ignore[attr-defined]


def test_a_default_that_instances_would_share_is_refused() -> None:
    """As the standard library refuses it, when the class is made."""
    for library in (quick, dataclasses):
        with pytest.raises(ValueError, match="mutable default <class 'list'> for field words is not allowed"):

            @library.dataclass(slots=True)  # type: ignore[attr-defined]
            class _Shared:
                words: list[str] = []  # noqa: RUF012 - refused


def test_a_class_of_the_standard_library_extends_one_of_ours() -> None:
    """It takes over the fields, and whether they may change."""

    @dataclasses.dataclass(frozen=True)
    class Further(OURS["Frozen"]):  # type: ignore[name-defined, misc]
        further: int = 4

    assert dataclasses.asdict(Further(number=1)) == {"number": 1, "words": [], "text": "x", "secret": "s", "further": 4}
    with pytest.raises(TypeError, match="cannot inherit non-frozen"):
        dataclasses.dataclass(type("Open", (OURS["Frozen"],), {}))


@pytest.mark.parametrize("name", OURS)
def test_the_classes_have_the_same_shape(name: str) -> None:
    """Signature, slots, documentation and what pattern matching reads."""
    ours, theirs = OURS[name], THEIRS[name]
    assert list(inspect.signature(ours).parameters) == list(inspect.signature(theirs).parameters)
    assert [p.kind for p in inspect.signature(ours).parameters.values()] == [
        p.kind for p in inspect.signature(theirs).parameters.values()
    ]
    assert ours.__doc__ == theirs.__doc__
    assert ours.__match_args__ == theirs.__match_args__  # type: ignore[attr-defined]
    assert getattr(ours, "__slots__", None) == getattr(theirs, "__slots__", None)
    assert (ours.__hash__ is None) is (theirs.__hash__ is None)


def test_a_class_that_was_not_called_shows_its_signature_to_python_3_13() -> None:
    """`inspect` binds what stands for `__init__` to the class there, as if the class were an instance."""

    @quick.dataclass(frozen=True, slots=True, kw_only=True)
    class Uncalled:
        number: int
        words: tuple[str, ...] = ()

    stand_in = vars(Uncalled)["__init__"]
    bound = type(stand_in).__get__(stand_in, Uncalled, type(Uncalled))

    assert list(inspect.signature(bound).parameters) == ["number", "words"]
    assert Uncalled(number=1).words == ()


def test_frozen_instances_refuse_changes_and_have_a_hash() -> None:
    """The hash covers the fields that are compared."""
    cls = THEIRS["Derived"], OURS["Derived"]
    for kind in cls:
        one = kind(number=1, words=(), secret="a")
        assert hash(one) == hash(kind(number=1, words=(), secret="b"))
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'number'"):
            one.number = 2
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'number'"):
            del one.number
    assert OURS["Unslotted"](number=2).double == 4
    with pytest.raises(TypeError):
        hash(OURS["Open"](number=1))


def test_each_instance_gets_a_default_of_its_own() -> None:
    """A default factory is called for each instance."""
    assert OURS["Frozen"](number=1).words is not OURS["Frozen"](number=1).words
    given: list[str] = []
    assert OURS["Frozen"](number=1, words=given).words is given


@pytest.mark.parametrize("given", [{}, {"number": 1, "nothing": 2}])
def test_wrong_arguments_are_type_errors(given: dict[str, Any]) -> None:
    """Wrong arguments raise TypeError, as for any function."""
    with pytest.raises(TypeError):
        OURS["Frozen"](**given)


@quick.dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A class at the top of a module, which pickle can find."""

    number: int
    text: str = ""


def test_instances_are_copied_and_pickled() -> None:
    """Instances can be pickled and copied, also frozen ones."""
    one = Stored(number=1, text="x")
    assert pickle.loads(pickle.dumps(one)) == copy.copy(one) == copy.deepcopy(one) == one


def test_no_method_is_compiled_before_the_class_is_called() -> None:
    """Importing a class makes nothing of it; after some instances, or for whoever looks, there is a function that stays."""
    cls = classes(quick)["Derived"]
    assert not inspect.isfunction(vars(cls)["__init__"])

    class Own(cls):  # type: ignore[misc, valid-type]
        """A class that is made by hand."""

        def __init__(self, number: int) -> None:
            super().__init__(number=number, more=number)

    for _ in range(quick.CALLS_UNCOMPILED // 2):
        assert (Own(5).number, Own(5).more) == (5, 5)
        assert not inspect.isfunction(vars(cls)["__init__"])
    assert (Own(5).number, Own(5).more) == (5, 5)
    init = vars(cls)["__init__"]
    assert inspect.isfunction(init)
    assert cls(number=1).number == 1
    assert vars(cls)["__init__"] is init


@quick.dataclass(frozen=True, kw_only=True)
class Weighed:
    """A class with a field that is made when it is first read."""

    number: int
    weight: int = quick.field(compare=False, metadata=quick.LATE)


@pytest.mark.parametrize("earlier", [0, quick.CALLS_UNCOMPILED + 1], ids=["first instances", "compiled"])
def test_a_late_field_is_made_once_and_again_only_after_a_failure(earlier: int) -> None:
    """What cannot be made raises its own error each time it is read; what is made stays, and is in copies."""
    answers = iter([ValueError("no scales"), 4, 5])

    def weigh() -> int:
        answer = next(answers)
        if isinstance(answer, ValueError):
            raise answer
        return answer

    for _ in range(earlier):
        Weighed(number=0, weight=0)
    one = Weighed(number=1, weight=weigh)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no scales"):
        _ = one.weight
    assert [one.weight, one.weight] == [4, 4]
    assert dataclasses.replace(one, number=2).weight == copy.copy(one).weight == 4
    assert one == Weighed(number=1, weight=9)
    with pytest.raises(AttributeError, match="has no attribute 'height'"):
        one.height  # type: ignore[attr-defined]  # noqa: B018
