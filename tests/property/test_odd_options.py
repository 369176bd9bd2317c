"""Every option of every public function with values it was not made for: a typed error or a result, never another exception."""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import inspect
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from openai import OpenAI

import plimsoll
from plimsoll.errors import MemoryWarning, PlimsollError
from plimsoll.policy.policy import Policy
from plimsoll.tokens.registry import model_info, register_model

pytestmark = pytest.mark.filterwarnings("ignore::plimsoll.errors.UnknownModelWarning")

MESSAGES: list[dict[str, Any]] = [
    {"role": ("user", "assistant")[n % 2], "content": f"{n}: the crane moved pallet {n * 37} to /srv/a{n}.py. " * 8}
    for n in range(12)
]

SESSION = plimsoll.open(store="memory:", max_tokens=300)
STORE = plimsoll.open_store("memory:odd")
with plimsoll.open("s", store=STORE) as _made:
    _made.extend(MESSAGES[:4])
EVALUATION = plimsoll.evaluate(
    [[{"role": "user", "content": f"Crane {n} moved pallet {n * 37} to Riga."} for n in range(9)]]
)


class Colour(enum.Enum):
    """No number and no text."""

    RED = 1


class Number(enum.IntEnum):
    """A number that is a name, too."""

    FOUR = 4


class ArrayLike:
    """Compares like a numpy array, whose truth is an error; counts like a numpy integer."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> Any:
        return self

    def __bool__(self) -> bool:
        raise ValueError("the truth value of an array is ambiguous")

    def __index__(self) -> int:
        return 4

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> int:
        if index > 1:
            raise IndexError
        return 4


class Hostile:
    """Cannot be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("repr")

    __str__ = __repr__


class Keys(dict[Any, Any]):
    """A mapping of another type."""


ODD: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "true": lambda: True,
    "false": lambda: False,
    "zero": lambda: 0,
    "minus": lambda: -1,
    "huge": lambda: 10**30,
    "int64": lambda: 2**63,
    "half": lambda: 0.5,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "decimal": lambda: Decimal(5),
    "decimal nan": lambda: Decimal("NaN"),
    "fraction": lambda: Fraction(1, 3),
    "complex": lambda: 1j,
    "empty": lambda: "",
    "word": lambda: "nonsense",
    "digits": lambda: "400",
    "surrogate": lambda: "\ud800",
    "null": lambda: "a\0b",
    "long": lambda: "x" * 5_000,
    "bytes": lambda: b"x",
    "list": list,
    "nested": lambda: [None, [1], {"a": {}}],
    "words": lambda: ["a", "b"],
    "empty mapping": dict,
    "mapping": lambda: {"a": 1, None: 2},
    "keys": lambda: Keys({"type": "text", "text": "x"}),
    "blocks": lambda: [{"type": "text", "text": "Be brief."}],
    "set": lambda: {1},
    "iterator": lambda: iter([1]),
    "object": object,
    "type": lambda: int,
    "function": lambda: print,
    "raising": lambda: _raising,
    "enum": lambda: Colour.RED,
    "number": lambda: Number.FOUR,
    "array": ArrayLike,
    "hostile": Hostile,
    "path": lambda: Path("nowhere/at/all"),
}
"""Values by name, each made anew."""


def _raising(*given: Any, **options: Any) -> Any:
    raise ZeroDivisionError


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text that is no option may be a path."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PLIMSOLL_HOME", str(tmp_path / "home"))


def _answer(_: object) -> str:
    return "The crane moved pallets."


def session(**options: Any) -> plimsoll.Session:
    """A session that has been compacted once."""
    opened = plimsoll.open("s", **{"store": "memory:", "max_tokens": 600, "project": False, **options})
    opened.extend(MESSAGES)
    opened.view()
    return opened


def opened(**options: Any) -> None:
    """A session with these options, used."""
    with session(**options) as made:
        made.append({"role": "user", "content": "go on"})
        made.view()
        made.compact()
        made.recall("crane")
        made.messages()
        made.context_text()
        made.status()


def fitted(**options: Any) -> None:
    """A view with a report."""
    made = plimsoll.fit(**{"messages": MESSAGES, "max_tokens": 300, **options})
    assert made.report.to_dict()


def awaited(**options: Any) -> None:
    """The same awaited."""
    assert asyncio.run(plimsoll.afit(**{"messages": MESSAGES, "max_tokens": 300, **options})).report


def shrunk(**options: Any) -> None:
    """A tool result made smaller."""
    plimsoll.shrink(**{"tool_name": "bash", "result": "line\n" * 500, "max_tokens": 100, **options})


def with_policy(**options: Any) -> None:
    """A policy of one field, in a call."""
    policy = Policy(name="odd", **options) if "name" not in options else Policy(**options)
    plimsoll.fit(MESSAGES, max_tokens=300, policy=policy)
    Policy.from_dict(policy.to_dict())
    plimsoll.fit(MESSAGES, max_tokens=300, policy=dict(options), summarizer=_answer)


def read(folder: Path) -> Callable[..., None]:
    """The functions that read files, below a folder."""

    def files(**options: Any) -> None:
        asked = {"files": ["a.py"], "root": folder, **options}
        plimsoll.read_files(**asked)

    return files


FUNCTIONS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "fit": (fitted, {}),
    "afit": (awaited, {}),
    "plan": (plimsoll.plan, {"messages": MESSAGES, "max_tokens": 300}),
    "check": (plimsoll.check, {"messages": MESSAGES, "max_tokens": 300}),
    "window": (plimsoll.window, {"messages": MESSAGES, "max_tokens": 300}),
    "convert": (plimsoll.convert, {"messages": MESSAGES, "to": "anthropic"}),
    "validate": (plimsoll.validate, {"messages": MESSAGES}),
    "count_tokens": (plimsoll.count_tokens, {"text_or_messages": MESSAGES}),
    "cut": (plimsoll.cut, {"text": "word " * 500, "max_tokens": 50}),
    "shrink": (shrunk, {}),
    "files_mentioned": (plimsoll.files_mentioned, {"messages": MESSAGES}),
    "with_files": (plimsoll.with_files, {"summarizer": str, "root": "."}),
    "sessions": (plimsoll.sessions, {"store": "memory:"}),
    "recall_sessions": (plimsoll.recall_sessions, {"query": "crane", "store": STORE}),
    "delete": (plimsoll.delete, {"name": "s", "store": "memory:"}),
    "archive": (plimsoll.archive, {"name": "s", "store": "memory:"}),
    "restore": (plimsoll.restore, {"name": "s", "store": "memory:"}),
    "verify": (plimsoll.verify, {"name": "s", "store": "memory:"}),
    "repair": (plimsoll.repair, {"name": "s", "store": "memory:"}),
    "open_store": (plimsoll.open_store, {"spec": "memory:"}),
    "import_file": (plimsoll.import_file, {"source": b"", "store": "memory:"}),
    "import_name": (plimsoll.import_name, {"path": "nowhere.json"}),
    "load_file": (plimsoll.load_file, {"source": b"[]"}),
    "measure": (plimsoll.measure, {"source": MESSAGES}),
    "inspect": (plimsoll.inspect, {"source": MESSAGES, "max_tokens": 300}),
    "model_summarizer": (plimsoll.model_summarizer, {"model": "openai:x"}),
    "loss_report": (plimsoll.loss_report, {"session": SESSION}),
    "wrap": (plimsoll.wrap, {"client": OpenAI(api_key="none"), "store": "memory:"}),
    "session_of": (plimsoll.session_of, {"client": OpenAI(api_key="none")}),
    "open_memory": (plimsoll.open_memory, {}),
    "evaluate": (plimsoll.evaluate, {"sources": [MESSAGES]}),
    "write_sheets": (plimsoll.write_sheets, {"evaluation": EVALUATION, "folder": "sheets"}),
    "grade_sheets": (plimsoll.grade_sheets, {"folder": "nowhere"}),
    "token_counter": (plimsoll.token_counter, {}),
    "preload": (plimsoll.preload, {}),
}
"""The public functions, each with options that work; the options fuzzed are those of its own signature."""

METHODS: dict[str, dict[str, Any]] = {
    "append": {"message": MESSAGES[0]},
    "extend": {"messages": MESSAGES[:2]},
    "can_append": {"message": MESSAGES[0]},
    "view": {},
    "preview": {},
    "compact": {},
    "rollback": {},
    "reapply": {},
    "view_after": {"compaction_id": "c13"},
    "pin": {"message_id": "m1"},
    "unpin": {"message_id": "m1"},
    "recall": {"query": "crane"},
    "messages": {},
    "message": {"message_id": "m1"},
    "usage": {},
    "context": {},
    "context_text": {},
    "history": {},
    "files": {},
    "fork": {"at": "m3"},
    "tools": {},
    "is_tool": {"name": "recall"},
    "call_tool": {"name": "recall", "arguments": {"query": "crane"}},
    "record_usage": {"prompt_tokens": 300, "completion_tokens": 3},
    "put_blob": {"data": b"x"},
    "get_blob": {"reference": "x"},
    "notes": {"what": "x"},
    "export": {},
    "sync": {"messages": MESSAGES},
}
"""The methods of a session in the same way."""


def _plan() -> plimsoll.Plan[Any]:
    return plimsoll.plan(MESSAGES, max_tokens=300)


def _token_budget() -> plimsoll.TokenBudget:
    made = plimsoll.TokenBudget(100, caps={"a": 50})
    made.allocate("a", 20)
    return made


VALUES: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "Budget.of": (lambda: plimsoll.Budget, {"max_tokens": 100}),
    "LoadLines.resolve": (plimsoll.LoadLines, {"budget_tokens": 100}),
    "Offloads.put": (lambda: plimsoll.Offloads("memory:"), {"text": "x", "label": "x"}),
    "Offloads.get": (lambda: plimsoll.Offloads("memory:"), {"reference": "x"}),
    "Plan.with_summary": (_plan, {"text": "x"}),
    "Policy.named": (lambda: Policy, {"name": "fill"}),
    "Policy.from_dict": (lambda: Policy, {"data": {}}),
    "Policy.budget": (Policy, {"window_tokens": 1_000}),
    "TokenBudget.allocate": (_token_budget, {"category": "a", "tokens": 1}),
    "TokenBudget.release": (_token_budget, {"category": "a"}),
    "TokenBudget.remaining": (_token_budget, {}),
}
"""The methods of values that take options, each on a value of its own."""

TYPES: dict[str, tuple[type, dict[str, Any]]] = {
    "Budget": (plimsoll.Budget, {"window_tokens": 1_000}),
    "LoadLines": (plimsoll.LoadLines, {}),
    "Filter": (plimsoll.Filter, {}),
    "TokenBudget": (plimsoll.TokenBudget, {"total_tokens": 100}),
    "Storage": (plimsoll.Storage, {}),
}
"""What a caller makes to hand over."""


def is_typed(call: Callable[..., Any], options: dict[str, Any]) -> str | None:
    """What is wrong with the outcome of a call; None for a result or a typed error that can be shown."""
    try:
        result = call(**options)
        if inspect.iscoroutine(result):
            result.close()
        close = getattr(result, "close", None)
        if isinstance(result, plimsoll.Session):
            close()
    except (PlimsollError, MemoryWarning) as error:  # the warning: a store of memories that fails stops nothing
        str(error).encode("utf-8", "backslashreplace")
    except Exception as error:  # noqa: BLE001 - any other is what this looks for
        return f"{type(error).__name__}: {str(error)[:80]}"
    return None


def faults(call: Callable[..., Any], base: dict[str, Any], names: Iterator[str] | list[str]) -> list[str]:
    """The options and values whose outcome is neither a result nor a typed error."""
    found = []
    for name in names:
        for label, make in ODD.items():
            wrong = is_typed(call, {**base, name: make()})
            if wrong:
                found.append(f"{name}={label}: {wrong}")
    return found


def options_of(function: Callable[..., Any]) -> list[str]:
    """The names of the options of a function."""
    parameters = inspect.signature(function).parameters.values()
    return [each.name for each in parameters if each.kind is not each.VAR_KEYWORD and each.name != "self"]


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_take_odd_options(name: str) -> None:
    """Each option of a public function in turn."""
    call, base = FUNCTIONS[name]
    assert faults(call, base, options_of(getattr(plimsoll, name))) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_methods_take_odd_options(name: str) -> None:
    """Each option of a session's methods, and the session goes on afterwards."""
    used: list[plimsoll.Session] = []

    def call(**options: Any) -> Any:
        if not used or len(used[-1].history()) > 60:
            used.append(session())
        return getattr(used[-1], name)(**options)

    assert faults(call, METHODS[name], options_of(getattr(plimsoll.Session, name))) == []
    used[-1].append({"role": "user", "content": "go on"})
    assert plimsoll.validate(used[-1].view()) == []


def test_every_public_function_is_tried() -> None:
    """Names that come later are not forgotten here."""
    public = {name for name in plimsoll.__all__ if inspect.isfunction(getattr(plimsoll, name))}
    assert public - set(FUNCTIONS) == {"aopen", "discover", "read_files"}
    methods = {name for name, each in inspect.getmembers(plimsoll.Session, inspect.isfunction) if name[0] != "_"}
    awaiting = {name for name in methods if name[0] == "a" and name[1:] in methods} | {"sync_async"}
    optionless = {name for name in methods if not options_of(getattr(plimsoll.Session, name))}
    assert methods - awaiting - optionless - set(METHODS) == {"update", "read"}


@pytest.mark.parametrize("name", ["read_files"])
def test_files_are_read_with_odd_options(name: str, tmp_path: Path) -> None:
    """The same where a folder is needed."""
    (tmp_path / "a.py").write_text("print()\n")
    assert faults(read(tmp_path), {}, options_of(getattr(plimsoll, name))) == []


@pytest.mark.slow
def test_sessions_open_with_odd_options() -> None:
    """Each option of `open`, in a session that is used."""
    names = [name for name in options_of(plimsoll.open) if name != "name"]
    assert faults(opened, {}, names) == []
    assert faults(lambda name: plimsoll.open(name, store="memory:").close(), {}, ["name"]) == []


@pytest.mark.slow
def test_policies_take_odd_fields() -> None:
    """Each field of a policy, as a value and in a mapping."""
    assert faults(with_policy, {}, [each.name for each in dataclasses.fields(Policy)]) == []


def _fresh(make: Callable[[], Any], method: str) -> Callable[..., Any]:
    def call(**options: Any) -> Any:
        return getattr(make(), method)(**options)

    return call


@pytest.mark.slow
@pytest.mark.parametrize("name", VALUES)
def test_methods_of_values_take_odd_options(name: str) -> None:
    """Each option of a method of a value."""
    make, base = VALUES[name]
    method = name.partition(".")[2]
    names = [option for option in options_of(getattr(make(), method)) if option != "overrides"]
    assert faults(_fresh(make, method), base, names) == []


def test_references_are_read_with_odd_options() -> None:
    """In a session and in what was offloaded."""
    with session() as made:
        reference = next(name for action in made.compactions()[0].actions for name in action.references)
        assert made.read(reference)
        assert faults(made.read, {"reference": reference}, ["reference", "offset", "limit"]) == []
    kept = plimsoll.Offloads("memory:")
    reference = kept.put("the pallet", label="x")
    assert faults(kept.read, {"reference": reference}, ["reference", "offset", "limit"]) == []


def test_models_take_odd_fields() -> None:
    """What is known of a model, and what is added to it."""
    fields = [each.name for each in dataclasses.fields(model_info("gpt-4o")) if each.name not in ("name", "match")]
    assert faults(lambda **options: register_model("odd-model", **options), {}, [*fields, "vocabulary"]) == []
    assert faults(model_info, {}, ["name"]) == []


@pytest.mark.parametrize("name", TYPES)
def test_values_take_odd_fields(name: str) -> None:
    """Each field of what a caller makes to hand over."""
    make, base = TYPES[name]
    assert faults(make, base, options_of(make)) == []
