"""Parse a rule-based summary back into facts, for callers without a session, which have no other record of the past.

Otherwise each new summary would truncate the previous one and lose requests after a few rounds. Text outside plimsoll's
layout (a model's prose, Chinese dialogue by topic, the rest of a cut) is kept as text.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from plimsoll.light.dataclass import replace
from plimsoll.light.regex import regex
from plimsoll.summary.frame import omitted, recognise
from plimsoll.summary.labels import CHINESE, ENGLISH, Labels, by_several
from plimsoll.summary.ledger import Fact, Kind, Ledger
from plimsoll.summary.ledger.dates import with_year
from plimsoll.summary.ledger.fact import BEFORE_ALL, CAPS, RECALLED, RECALLED_OF_PEERS, Origin, author_of, by
from plimsoll.summary.ledger.requests import from_user
from plimsoll.summary.ledger.sentences import line as one_line
from plimsoll.summary.ledger.sentences import sentences
from plimsoll.summary.ledger.wire import Counts

if TYPE_CHECKING:
    from collections.abc import Sequence

_LANGUAGES = (ENGLISH, CHINESE)
_SECTIONS = {title: name for labels in _LANGUAGES for name, title in labels.sections.items() if name != "topic"}
_OF_SEVERAL = {several: name for title, name in _SECTIONS.items() if (several := by_several(title)) != title}
_TOPICS = tuple(labels.sections["topic"] for labels in _LANGUAGES)
_QUOTE = 'quoted: "{}"'
_FILES = frozenset({"modified", "read"})
_KINDS: dict[str, tuple[Kind, Origin, float]] = {
    "constraint": ("constraint", "user", 3.0),
    "work": ("work", "assistant", 2.5),
    "error": ("error", "tool", 2.0),
}
_FILE_WEIGHTS = {"modified": 4.0, "read": 1.5}
_WHOLE_WEIGHT = 0.5
"""What a file gains whose whole path a summary named: those are the ones that mattered most."""

_TALK = frozenset({"chat", "peers", "told", "decision"})
_TOPIC_CHARS_MAX = 24  # a longer text before a colon is a statement
_CUT_MARK = regex(r" \[\+([0-9]{1,9})(?: m[0-9]{1,12})?\]\Z")
_CUT = "[…"
"""A line with this prefix replaces cut lines, possibly with titles. Elsewhere in a line it is tool output."""

_LEGEND = regex(r"\(([^\W\d_] = [^,)\n]{1,60}(?:, [^\W\d_] = [^,)\n]{1,60})*)\)")
_HEADING = regex(r"\[([^\]\n]{1,200})\]")
_SPOKEN = regex(r"([^:;\n]{1,50}): (.+)")


def _closing(labels: Labels) -> re.Pattern[str]:
    """Return a pattern for a summary's closing line, complete or truncated: message counts and what was omitted."""
    counts = re.escape(labels.counts).replace(r"\{numbers\}", r"(?:m[0-9]{1,9}-m[0-9]{1,9} )?")
    for name in ("user", "assistant", "tool"):
        counts = counts.replace(rf"\{{{name}\}}", f"(?P<{name}>[0-9]{{1,9}})")
    code = rf"(?: {re.escape(labels.languages)} (?P<code>[^.\n]{{1,200}})\.)?"
    short = re.escape(labels.left_out).replace(r"\{list\}", rf"(?P<count>[0-9]{{1,9}} {labels.kinds['fact']}s?)")
    return regex(rf"{counts}{code}(?P<left>[^\n]{{0,600}})|{short}\Z")


_CLOSINGS = tuple((labels, _closing(labels)) for labels in _LANGUAGES)


def _letters(line: str) -> str:
    """Normalise a title for comparison."""
    return "".join(filter(str.isalnum, line)).casefold()


_TITLES = frozenset(map(_letters, (*_SECTIONS, *_OF_SEVERAL)))


def is_title(line: str) -> bool:
    """Return whether a line is a section title."""
    return line in _SECTIONS or line in _OF_SEVERAL


def quoted(text: str) -> str:
    """Quote the lines of a foreign text that could be taken for a section title or a closing line."""
    return "\n".join(_QUOTE.format(line) if _is_reserved(line) else line for line in text.split("\n"))


def _is_reserved(line: str) -> bool:
    bare = _letters(line)
    return (
        bare in _TITLES
        or line.strip().startswith(_TOPICS)
        or any(closing.match(line.strip()) for _, closing in _CLOSINGS)
    )


def recollected(ledger: Ledger, text: str) -> Ledger:
    """Add a summary to the ledger: facts from a plimsoll summary, plain text from any other."""
    count = omitted(text)
    if count is not None:
        return replace(ledger, counts=ledger.counts._replace(messages=ledger.counts.messages + count))
    span = recognise(text)
    return ledger.with_words(quoted(text)) if span is None else ledger.recollecting(reread(span.body))


def span_of(text: str, place: int) -> tuple[int, int]:
    """Return the positions `[start, end)` a summary covers; without positions, its message count from `place` on."""
    span = recognise(text)
    if span is not None and span.start is not None and span.end is not None:
        return span.start, span.end
    count = omitted(text) if span is None else span.count or reread(span.body).counts.messages
    return place, place + max(1, count or 1)


def reread(body: str) -> Ledger:
    """Parse the body of a plimsoll summary into facts and remaining text. Linear time, never raises.

    Requests and constraints are attributed to the user, since only the user's are written under these titles.
    """
    reader = _Reader()
    for line in body.split("\n"):
        reader.feed(line)
    return reader.finished()


class _Reader:
    """A line-by-line parser of a summary."""

    __slots__ = (
        "concluded",
        "counts",
        "day",
        "facts",
        "group",
        "is_counted",
        "is_of_several",
        "item",
        "left_out",
        "names",
        "order",
        "rest",
        "section",
    )

    def __init__(self) -> None:
        self.order = BEFORE_ALL
        self.facts: dict[Kind, dict[str, Fact]] = {}
        self.left_out: dict[Kind | Literal["fact"], int] = {}
        self.counts, self.is_counted = Counts(messages=1), False
        self.rest: list[str] = []
        self.section, self.group, self.day, self.is_of_several = "", "", "", False
        self.names: dict[str, str] = {}
        self.item: list[str] = []
        self.concluded: list[tuple[str, str]] = []

    def feed(self, line: str) -> None:
        """Process a title, a line of an item, the closing line, or plain text."""
        if is_title(line):
            self._open(_SECTIONS.get(line) or _OF_SEVERAL[line])
            self.is_of_several = line in _OF_SEVERAL
        elif line.startswith(_TOPICS):
            self._open("")
            self._read_topics(line)
        elif not self._read_closing(line):
            in_section = bool(self.section) and not line.startswith(_CUT)
            if in_section and self.section in _TALK and self._is_talk_line(line):
                self._read_talk_line(line)
            elif not (in_section and line.startswith(("- ", "  "))):
                self._open("")
                self.rest.append(line)
            elif line.startswith("- ") or self.section == "identifier":
                self._finish_item()
                self.item = [line]
            else:
                self.item.append(line[2:])

    def finished(self) -> Ledger:
        """Return the ledger; its `words` are the text without facts."""
        self._finish_item()
        talks = self.counts.is_dialogue if self.is_counted else "chat" in self.facts or "topic" in self.facts
        for author, text in self.concluded:
            if talks:
                self._read_statements(text, "assistant")
            else:
                self._add("decision", text.casefold()[:160], text, "assistant", 2.0, by(author))
        if talks:
            self._add_requests_to_talk()
        elif not self.is_counted:  # without counts, treat it as an agent's run
            self.counts = self.counts._replace(results=self.counts.messages)
        facts = {kind: tuple(found.values()) for kind, found in self.facts.items()}
        most: Kind = "chat" if talks else "identifier"
        evicted = {most if kind == "fact" else kind: number for kind, number in self.left_out.items()}
        ledger = Ledger(facts=MappingProxyType(facts), counts=self.counts, evicted=MappingProxyType(evicted))
        return ledger.in_words("\n".join(self.rest).strip("\n"))

    def _open(self, section: str) -> None:
        self._finish_item()
        self.section, self.group, self.day = section, "", ""

    def _read_closing(self, line: str) -> bool:
        for labels, closing in _CLOSINGS:
            found = closing.match(line)
            if found is not None:
                self._open("")
                self._read_counts(found, labels)
                return True
        return False

    def _read_counts(self, found: re.Match[str], labels: Labels) -> None:
        if found["user"] is not None:
            user, assistant, tool = (int(found[name]) for name in ("user", "assistant", "tool"))
            self.counts = Counts(max(1, user + assistant + tool), user, assistant, tool, results=tool)
            self.is_counted = True
        for name in (found["code"] or "").split(", ") if found["code"] else ():
            self._add("language", name, name, "assistant", 1.0)
        left = found["left"] or found["count"] or ""
        for kind, word in labels.kinds.items():
            number = re.search(rf"([0-9]{{1,9}}) {re.escape(word)}s?(?![^\s,.，。])", left)
            if number is not None:
                self.left_out[kind] = int(number[1])

    def _finish_item(self) -> None:
        lines, self.item = self.item, []
        if not lines:
            return
        text = "\n".join([lines[0].removeprefix("- "), *lines[1:]])
        match self.section:
            case "request" | "cut request":
                cut = _CUT_MARK.search(text)
                author, text = self._authored(text if cut is None else text[: cut.start()])
                # With its constraints, which truncation may remove.
                for fact in from_user(text, self.order, author=author):
                    state = cut[1] if cut is not None and fact.kind == "request" else ""
                    self._add(fact.kind, fact.key, fact.text, "user", fact.weight, fact.note, state)
            case "command":
                self._read_command(text)
            case "identifier":
                self._read_value(lines[0])
            case "symbol":
                file, _, names = text.rpartition(": ")
                for name in names.split(", "):
                    self._add("symbol", name, name, "tool", 1.0, note=file)
            case section if section in _FILES:
                self._read_files(text)
            case section if section in _KINDS:
                kind, origin, weight = _KINDS[section]
                author, text = self._authored(text)
                self._add(kind, text.casefold()[:160], text, origin, weight, by(author))
            case _:
                pass  # activity is outdated

    def _authored(self, text: str) -> tuple[str, str]:
        """Return who said it, in a section of several, and what."""
        author, mark, said = text.partition(": ") if self.is_of_several else ("", "", "")
        return (author, said) if mark else ("", text)

    def _read_command(self, text: str) -> None:
        command, _, ended = text.partition(" → ")
        failed = next((labels.failed for labels in _LANGUAGES if ended.startswith(labels.failed)), None)
        state, note = ("failed", ended.removeprefix(failed).strip()) if failed else ("ok", ended)
        self._add("command", command, command, "tool", 1.5, note=note, state=state)

    def _read_value(self, line: str) -> None:
        """Read a value under its group's heading, on the same line as its group, or without a group."""
        if line.startswith("- ") and line.endswith(":"):
            self.group = line[2:-1]
            return
        if line.startswith("- "):
            self.group, _, text = line[2:].rpartition(": ") if ": " not in line else (*line[2:].partition(": "),)
        else:
            text = line[2:]
        self._add("identifier", f"{self.group}|{text}", text, "tool", 1.5, note=f"{self.group}\t")

    def _read_talk(self, line: str) -> None:
        """Read a heading, a legend, or a line of statements, whose speaker's name may be abbreviated in the legend."""
        if (legend := _LEGEND.fullmatch(line)) is not None:
            self.names = dict(pair.split(" = ", 1) for pair in legend[1].split(", "))
        elif (heading := _HEADING.fullmatch(line)) is not None:
            self.day = with_year(heading[1], self.day)
            self._add("heading", f"{self.order}", self.day, "user", 1.0)
        else:
            spoken = _SPOKEN.fullmatch(line)
            name, texts = (self.names.get(spoken[1], spoken[1]), spoken[2]) if spoken else ("", line)
            self._add_statements(texts.split("; "), name)

    def _read_topics(self, line: str) -> None:
        title = next(title for title in _TOPICS if line.startswith(title))
        for text in filter(None, line.removeprefix(title).split("; ")):
            self._add("topic", text.casefold(), text, "user", 1.0)

    def _is_talk_line(self, line: str) -> bool:
        return line.startswith("- ") or self.section in ("chat", "peers") or _HEADING.fullmatch(line) is not None

    def _read_talk_line(self, line: str) -> None:
        """Read a heading, a speaker's statements, or an item attributed by its section."""
        if not line.startswith("- "):
            self._read_talk(line)
        elif self.section == "decision":
            self.concluded.append(self._authored(line[2:]))
        else:
            self._read_statements(line[2:], {"told": "user", "peers": "assistant"}.get(self.section, ""))

    def _read_statements(self, text: str, name: str) -> None:
        """Read the statements of one line; Chinese lines have a topic, and the user's statements last."""
        if not text.endswith("。"):
            self._add_statements(text.split("; "), name)
            return
        topic, mark, statements = text.partition("：")
        if not mark or len(topic) > _TOPIC_CHARS_MAX or "。" in topic or topic.startswith(CHINESE.user):
            topic, statements = "", text
        others, _, by_user = f"。{statements}".partition(f"。{CHINESE.user}")
        self._add_statements(others.split("。"), name, topic)
        self._add_statements(by_user.split("。"), "user", topic)

    def _add_statements(self, texts: Sequence[str], name: str, topic: str = "") -> None:
        origin: Origin = "assistant" if name == "assistant" else "user"
        note = f"{name}\t{topic}" if topic else name
        is_of_peers = self.section == "peers" or (self.section == "chat" and name in ("user", "assistant"))
        state = RECALLED_OF_PEERS if is_of_peers else RECALLED
        position = self.order  # all are of one message
        for text in filter(None, texts):
            fact = Fact("chat", f"{self.order}", text, position, origin, 1.2, note=note, state=state)
            self.facts.setdefault("chat", {})[fact.key] = fact
            self.order += 1

    def _add_requests_to_talk(self) -> None:
        """Add the user's requests and constraints to the talk too, in case the next summary has no room for their sections."""
        for kind in ("request", "constraint"):
            for fact in self.facts.get(kind, {}).values():
                for place, text in enumerate(sentences(fact.text)):
                    shown, key = one_line(text, CAPS["chat"].text_chars_max), f"{fact.position}.{place}"
                    statement = fact._replace(
                        kind="chat", key=key, text=shown, note=by(author_of(fact)) or "user", state=RECALLED
                    )
                    self.facts.setdefault("chat", {}).setdefault(key, statement)

    def _read_files(self, text: str) -> None:
        folder, mark, names = text.partition("/: ")
        folder, names = (f"{folder}/", names) if mark else ("", text)
        for name in names.split(", "):
            path = f"{folder}{name}"
            weight = _FILE_WEIGHTS[self.section] + (0.0 if folder else _WHOLE_WEIGHT)
            self._add("file", path, path, "tool", weight, state=self.section)

    def _add(  # noqa: PLR0913, PLR0917 - the fields of a fact
        self, kind: Kind, key: str, text: str, origin: Origin, weight: float, note: str = "", state: str = ""
    ) -> None:
        fact = Fact(kind, key, text, self.order, origin, weight, note=note, state=state)
        self.facts.setdefault(kind, {}).setdefault(key, fact)
        self.order += 1
