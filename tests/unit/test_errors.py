"""Errors cross from one process to another as they are: workers of a pool send them by pickle."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import pytest

from plimsoll import errors

KINDS = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, (errors.PlimsollError, Warning)) and kind.__module__ == errors.__name__
]


def made(kind: type[Exception]) -> Exception:
    """An error with something in each of its fields."""
    if kind.__init__ in (Exception.__init__, ValueError.__init__, UserWarning.__init__):
        return kind("why")
    plain, named = list[Any](), dict[str, Any]()
    for name, parameter in list(inspect.signature(kind).parameters.items()):
        value = 3 if "int" in str(parameter.annotation) else f"the {name}"
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            named[name] = value
        else:
            plain.append(value)
    return kind(*plain, **named)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_errors_and_warnings_are_copied_and_pickled_whole(kind: type[Exception], again: Any) -> None:
    """Class, message and fields are the same. A pool of processes hangs on an error that its reader cannot make again."""
    error = made(kind)
    found = again(error)
    assert type(found) is kind
    assert (str(found), found.args, vars(found)) == (str(error), error.args, vars(error))
