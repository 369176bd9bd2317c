"""Insert values into a JSON text, and remove them again: every other byte stays.

Comments and commas before a closing bracket are passed over, as the tools whose settings these are do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, AnyStr, NoReturn

from plimsoll.errors import FormatError
from plimsoll.light.dataclass import dataclass, field
from plimsoll.light.regex import regex
from plimsoll.limits import NESTING_DEPTH_MAX

_TOKEN = regex(
    r"(?P<gap>[ \t\r\n]++|//[^\r\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)"
    r'|(?P<text>"(?:[^"\\\x00-\x1f]|\\["\\/bfnrtu])*+")'
    r"|(?P<sign>[{}\[\]:,])"
    r"|(?P<bare>-?[0-9]++(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+|true|false|null)",
    re.DOTALL,
)


@dataclass(slots=True, kw_only=True)
class Node:
    """A value and where it stands in its text: `text[start:end]`."""

    start: int
    end: int = 0
    items: list[Node] | None = None
    """Of a list."""
    members: dict[str, Node] | None = None
    """Of an object. Of several members of one name the last, as the tools read it."""
    begins: dict[str, int] = field(default_factory=dict)
    """Where the names of the members begin."""
    value: Any = None
    """Of all else."""

    def data(self) -> Any:
        """The value as Python has it."""
        if self.members is not None:
            return {name: node.data() for name, node in self.members.items()}
        return self.value if self.items is None else [node.data() for node in self.items]


def parse(text: str) -> Node:
    """The value that the text is. Raises FormatError with the line that is wrong."""
    return _Parser(text).whole()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._kind = self._word = ""
        self._start = 0
        self._next()

    def whole(self) -> Node:
        found = self._value(0)
        if self._kind != "end":
            self._fail("more follows the value")
        return found

    def _next(self) -> None:
        """Go to the next token, past blanks and comments."""
        while True:
            self._start = self._at
            if self._at == len(self._text):
                self._kind, self._word = "end", ""
                return
            found = _TOKEN.match(self._text, self._at)
            if found is None:
                self._fail("not JSON")
            self._at, self._kind, self._word = found.end(), found.lastgroup or "", found[0]
            if self._kind != "gap":
                return

    def _fail(self, reason: str) -> NoReturn:
        raise FormatError(f"line {self._text.count(chr(10), 0, self._start) + 1}: {reason}")

    def _value(self, depth: int) -> Node:
        if depth > NESTING_DEPTH_MAX:
            self._fail("nested too deeply")
        node = Node(start=self._start)
        match self._word:
            case "{":
                node.members = {}
                self._each("}", lambda: self._member(node, depth))
            case "[":
                items = node.items = []
                self._each("]", lambda: items.append(self._value(depth + 1)))
            case token if self._kind in ("text", "bare"):
                node.value = self._read(token)
                node.end = self._at
                self._next()
                return node
            case _:
                self._fail("a value is missing")
        node.end = self._start + 1
        self._next()
        return node

    def _read(self, token: str) -> Any:
        try:
            return json.loads(token)
        except ValueError:
            self._fail("not JSON")

    def _each(self, close: str, one: Any) -> None:
        """Everything between two brackets. Ends before the closing one."""
        self._next()
        while self._word != close or self._kind != "sign":
            one()
            if self._kind == "sign" and self._word == ",":
                self._next()
            elif self._word != close:
                self._fail(f"a comma or {close} is missing")

    def _member(self, node: Node, depth: int) -> None:
        if self._kind != "text":
            self._fail("a name is missing")
        name, begin = self._read(self._word), self._start
        self._next()
        if self._word != ":":
            self._fail("a colon is missing")
        self._next()
        assert node.members is not None
        node.members.pop(name, None)
        node.members[name] = self._value(depth + 1)
        node.begins[name] = begin


class Insertions:
    """What is put into a JSON text, in the text's own style. Everything that was there stays where it was."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.places: list[tuple[int, str]] = []
        """Where in the text, and what."""
        self._line = "\r\n" if "\r\n" in text else "\n"
        self._unit = _unit(text)

    def add_members(self, node: Node, members: dict[str, Any]) -> None:
        """Put members at the end of an object."""
        assert node.members is not None
        last = max((one.end for one in node.members.values()), default=None)
        first = min(node.begins.values(), default=node.start)
        shown = [(f"{json.dumps(name, ensure_ascii=False)}: ", value) for name, value in members.items()]
        self._add(node, first, last, shown)

    def add_items(self, node: Node, items: list[Any]) -> None:
        """Put items at the end of a list."""
        assert node.items is not None
        first = node.items[0].start if node.items else node.start
        self._add(node, first, node.items[-1].end if node.items else None, [("", value) for value in items])

    def _add(self, node: Node, first: int, last: int | None, shown: list[tuple[str, Any]]) -> None:
        is_spread = (
            "\n" in self.text[node.start : first] if last is not None else "\n" in self.text or not self._is_long()
        )
        outer = self._indent(node.start)
        inner = self._indent(first) if last is not None and is_spread else outer + self._unit
        gap = f"{self._line}{inner}" if is_spread else ("" if last is None else " ")
        texts = [f"{gap}{name}{self._dumped(value, inner if is_spread else None)}" for name, value in shown]
        body = ",".join(texts)
        if last is None:
            self.places.append((node.start + 1, f"{body}{self._line}{outer}" if is_spread else body))
        else:
            self.places.append((last, f",{body}"))

    def _is_long(self) -> bool:
        """Whether a text without line feeds holds something, and so was written on one line on purpose."""
        return len(self.text.strip()) > 2

    def _indent(self, at: int) -> str:
        """The blanks at the beginning of the line of a place."""
        line = self.text[self.text.rfind("\n", 0, at) + 1 : at]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def _dumped(self, value: Any, inner: str | None) -> str:
        if inner is None:
            return json.dumps(value, ensure_ascii=False)
        return json.dumps(value, ensure_ascii=False, indent=self._unit).replace("\n", f"{self._line}{inner}")

    def result(self) -> tuple[str, list[tuple[int, int]]]:
        """The text with everything put in, and where each insertion stands in it."""
        parts: list[str] = []
        spans: list[tuple[int, int]] = []
        at = size = 0
        for place, fragment in sorted(self.places, key=lambda one: one[0]):
            parts += [self.text[at:place], fragment]
            size += place - at
            spans.append((size, size + len(fragment)))
            at, size = place, size + len(fragment)
        return "".join([*parts, self.text[at:]]), spans


def without(text: AnyStr, spans: Iterable[tuple[int, int]]) -> AnyStr:
    """The text less these spans, which do not overlap."""
    nothing, at = text[:0], 0
    kept = [nothing]
    for start, end in sorted(spans):
        kept.append(text[at:start])
        at = end
    kept.append(text[at:])
    return nothing.join(kept)


def spans_of_item(text: str, node: Node, index: int) -> list[tuple[int, int]]:
    """What to take out with one item of a list, so that the commas are right again and comments stay."""
    assert node.items is not None
    return _spans(text, [(one.start, one.end) for one in node.items], index)


def spans_of_member(text: str, node: Node, name: str) -> list[tuple[int, int]]:
    """What to take out with one member of an object."""
    assert node.members is not None
    places = [(node.begins[key], one.end) for key, one in node.members.items()]
    return _spans(text, places, list(node.members).index(name))


def _spans(text: str, found: list[tuple[int, int]], index: int) -> list[tuple[int, int]]:
    start, end = found[index]
    if len(found) == 1:
        return [(start, end)]
    begin, stop = (found[index - 1][1], start) if index > 0 else (end, found[1][0])
    if text[begin:stop].strip() == ",":
        return [(min(begin, start), max(stop, end))]
    commas = [one.start() for one in _TOKEN.finditer(text, begin, stop) if one["sign"] == ","]
    comma = commas[-1 if index > 0 else 0]
    return [(start, end), (comma, comma + 1)]


def _unit(text: str) -> str:
    """What a line is indented by more than the one around it."""
    found = re.search(r"[\[{]\s*?\n([ \t]+)\S", text)
    return found[1] if found else "  "
