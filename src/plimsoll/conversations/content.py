"""What a request says, with placeholders for its secrets. Of a list that grows only the new messages are read."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from itertools import takewhile
from threading import Lock
from typing import Any, Final

from plimsoll.conversations.prefix import Digest, Listing, digest, is_system, system_digest
from plimsoll.conversations.redaction import Redaction
from plimsoll.formats.format import SystemText
from plimsoll.formats.intake import received
from plimsoll.formats.requests import RequestParts
from plimsoll.formats.wire import alike, copied
from plimsoll.light.dataclass import dataclass
from plimsoll.session.sync.snapshot import snapshot
from plimsoll.transcripts.lines import text_in, text_of, title

LISTS_MAX: Final = 16
"""Lists of which it is remembered what they say."""

MESSAGES_MAX: Final = 20_000
"""A longer list is not remembered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestContent:
    """What a request says, with placeholders for its secrets."""

    messages: list[Any]
    system: SystemText
    redaction: Redaction
    listing: Listing

    @property
    def title(self) -> str | None:
        """How the first request begins, without what a program put before it in tags; None without one."""
        for message in self.messages:
            content = message.get("content") if message.get("role") == "user" else None
            for block in content if isinstance(content, list) else [content]:
                text = (text_of(block) or text_in([block])).strip()
                if text and not text.startswith("<"):
                    return title(text)
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """One message that was read."""

    given: Any
    """Equal to the message as it came."""
    message: Any
    """The message with placeholders."""
    digest: Digest
    secrets: tuple[tuple[str, str], ...]
    """Placeholders, and what they stand for."""


class ContentReader:
    """Reads what requests say. Thread-safe."""

    def __init__(self, *, redact: bool) -> None:
        self._redact = redact
        self._lock = Lock()
        self._lists: OrderedDict[tuple[object, ...], list[_Known]] = OrderedDict()

    def read(self, parts: RequestParts, credentials: Iterable[str] = ()) -> RequestContent:
        """What a request says. `credentials` are the keys that came with it. Raises FormatError."""
        redaction = Redaction(credentials, is_on=self._redact)
        wires = received(parts.messages).wires if parts.messages else []
        key = (*redaction.credentials, parts.format, repr(wires[:2]))
        with self._lock:
            known = self._lists.get(key, [])
        same = sum(1 for _ in takewhile(lambda both: both[0].given == both[1], zip(known, wires, strict=False)))
        for one in known[:same]:
            redaction.note(one.secrets)
        found = [*known[:same], *(_read(wire, redaction) for wire in wires[same:])]
        self._remember(key, found)
        messages, system = [one.message for one in found], redaction(parts.system)
        return RequestContent(
            messages=messages, system=system, redaction=redaction, listing=_listing(found, messages, system)
        )

    def _remember(self, key: tuple[object, ...], found: list[_Known]) -> None:
        with self._lock:
            if len(found) <= MESSAGES_MAX:
                self._lists[key] = found
                self._lists.move_to_end(key)
            while len(self._lists) > LISTS_MAX:
                self._lists.popitem(last=False)


def _read(wire: Any, redaction: Redaction) -> _Known:
    before = len(redaction.occurrences)
    message = alike(copied(redaction(wire)), wire)  # its host may change it later
    secrets = tuple(redaction.occurrences[before:])
    return _Known(given=snapshot(wire), message=message, digest=digest(message), secrets=secrets)


def _listing(found: Sequence[_Known], messages: Sequence[Any], system: SystemText) -> Listing:
    leading = list(takewhile(is_system, messages))
    digests = tuple(one.digest for one in found[len(leading) :])
    return Listing(system=system_digest(system, leading), messages=digests)
