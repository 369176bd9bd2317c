"""A stand-in for `TypedDict` of `typing`, which compiles each annotation: a millisecond for the fields of a policy."""

from __future__ import annotations

from typing import Any


class TypedDict(dict[str, Any]):
    """The base of dicts with named fields, which are in `__annotations__`. Type checkers see that of `typing`."""

    def __init_subclass__(cls, *, total: bool = True) -> None:
        cls.__total__ = total

    __total__ = True
