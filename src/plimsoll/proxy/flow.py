"""What happens to a request and its reply, without sockets: request, decision, events.

A request that certainly fits goes out at once, byte for byte; reading and recording it come after, on a worker. Any other is read
first. Steps of one exchange, and of exchanges that follow each other, are taken in order.
"""

from __future__ import annotations

import json
from typing import Any, Final, Literal

from plimsoll.conversations.conversation import Prepared
from plimsoll.conversations.conversations import Conversations
from plimsoll.conversations.inner_searches import INNER_TOOLS
from plimsoll.errors import ErrorCatcher
from plimsoll.formats.overflow import Overflow
from plimsoll.formats.requests import ROUTES, parts_of
from plimsoll.formats.rules import RULES
from plimsoll.formats.wire import object_in
from plimsoll.light.dataclass import dataclass, replace
from plimsoll.message import FormatName
from plimsoll.proxy.gate import MARGIN_TOKENS, Gate, Track, may_hold_media
from plimsoll.proxy.reply import Reply
from plimsoll.proxy.response_ids import ResponseLinks
from plimsoll.proxy.rounds import Rounds

READ_AT_ONCE_BYTES_MAX: Final = 48 * 1024
"""A smaller body is read where it comes in: that takes less time than asking somebody else."""

Lane = Literal["same", "longer", "small", "read", "other"]
"""How it was decided: the same request again, a longer one, a small one, one that was read, or one that is none of ours."""


def format_of_route(method: str, path: str) -> FormatName | None:
    """The API that a request is for; None for any other route."""
    plain = path.partition("?")[0].rstrip("/")
    return next((name for end, name in ROUTES.items() if plain.endswith(end)), None) if method == "POST" else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request as it came in."""

    path: str
    format: FormatName
    raw: bytes
    """The body as it is to be sent on."""
    text: bytes
    """The body as JSON text, unpacked."""
    name: str | None = None
    credentials: tuple[str, ...] = ()
    window_tokens: int | None = None


class Flow:
    """All exchanges of a proxy."""

    def __init__(self, conversations: Conversations) -> None:
        self.conversations = conversations
        self.gate = Gate()
        self.links = ResponseLinks()

    def exchange(self, asked: Asked) -> ProxiedRequest:
        """An exchange for a request. Takes microseconds."""
        return ProxiedRequest(self, asked)


class ProxiedRequest:
    """One request and its reply.

    `ready` is the body to send, if that is known at once; then `note` is to be called on a worker. Else `prepare` is to be, which
    returns the body.
    """

    def __init__(self, flow: Flow, asked: Asked) -> None:
        self.asked = asked
        self.prepared: Prepared | None = None
        """Set once the request was read."""
        self.lane: Lane = "read"
        self.is_retry = False
        self.is_recorded = False
        """True if the request was taken to be recorded after it was sent."""
        self.problem: str | None = None
        """What went wrong; the exchange goes on all the same."""
        self._flow = flow
        self._track: Track | None = None
        self._may_be_small = False
        """True for a large body of no known conversation, which may fit by its size alone."""
        self._offering: bytes | None = None
        """The newest body in which the model is offered tools."""
        self._may_follow = False
        """True for a large body that may go on from a response that is remembered."""
        self._found: list[Any] | None = None
        """What the searches found that came together with calls of the client's tools, where that was asked for already."""
        self._key = f"{asked.path} {asked.window_tokens or ''}"
        """Requests with the same are compared."""
        self.ready: bytes | None = None
        """The body to send, where that is certain at once."""
        with ErrorCatcher() as deciding:  # `prepare` is called then
            self.ready = self._decided()
        if deciding.error is not None:
            self.problem = f"{type(deciding.error).__name__} while a request was decided"

    @property
    def needs_note(self) -> bool:
        """True if the request is to be recorded after it was sent."""
        return self.lane in ("longer", "small")

    @property
    def may_be_awaited(self) -> bool:
        """True if its conversation may be waiting for the answer."""
        return self.is_recorded or self.lane == "read" or self.prepared is not None

    @property
    def is_changed(self) -> bool:
        """True if other messages were sent than came."""
        return self.prepared is not None and self.prepared.changed

    def prepare(self) -> bytes:
        """Read the request, record it, and return the body to send. Takes long; nothing is raised: a fault stops no request.

        A body that fits for certain is returned at once; then `note` is to be called, as where one was `ready`.
        """
        if self._may_follow:
            with ErrorCatcher():  # it is read then
                found = self._followed() or self._known_to_fit()
                if found is not None:
                    return found
        if self._may_be_small:
            with ErrorCatcher():  # as above
                found = self._small()
                if found is not None:
                    return found
        return self._recorded()

    def _recorded(self) -> bytes:
        with ErrorCatcher() as reading:
            return self._prepared()
        self.problem = f"{type(reading.error).__name__} while a request was read"
        return self.asked.raw

    def _prepared(self) -> bytes:
        asked, request = self.asked, object_in(self.asked.text)
        if request is None:
            self.lane = "other"
            return asked.raw
        self.prepared = self._flow.conversations.prepare(
            request,
            format=asked.format,
            name=asked.name,
            credentials=asked.credentials,
            window_tokens=asked.window_tokens,
        )
        self.problem = self.prepared.problem
        self._learn(self.prepared)
        return self._encoded(self.prepared)

    def note(self) -> None:
        """Record a request that was sent already."""
        self._recorded()

    def retry(self, overflow: Overflow | None) -> bytes | None:
        """The body to send after the provider refused it, once; None if nothing can be done.

        `overflow` is what it said of the length; None: it found something else wrong.
        """
        if self.is_retry:
            return None
        self.is_retry = True
        with ErrorCatcher() as compacting:
            return self._other(overflow)
        self.problem = f"{type(compacting.error).__name__} while a request was compacted"
        return None

    def _other(self, overflow: Overflow | None) -> bytes | None:
        """Another body than the one that was refused; None if there is none."""
        if self.prepared is None:
            self._recorded()
        request, before = object_in(self.asked.text), self.prepared
        if request is None or before is None or before.conversation is None:
            return None
        again = before.conversation.prepare(
            request,
            credentials=self.asked.credentials,
            window_tokens=self.asked.window_tokens,
            overflow=overflow,
            repair=overflow is None,
        )
        self.prepared = replace(again, searches=before.searches)
        self.problem = self.prepared.problem
        self._learn(self.prepared)
        return self._encoded(self.prepared) if self.prepared.changed and self.prepared.body != before.body else None

    def rounds(self, body: bytes) -> Rounds | None:
        """What joins the replies to a body in which tools are offered; None for any other body."""
        return Rounds(self.asked.format, INNER_TOOLS) if body is self._offering else None

    def next_round(self, reply: Reply) -> bytes | None:
        """The body to send after a reply that only searched; None: it is the last. On a worker."""
        request, before = object_in(self.asked.text), self.prepared
        if request is None or before is None or before.conversation is None or not reply.is_complete:
            return None
        with ErrorCatcher() as searching:
            messages, usage = reply.answer()
            found = before.conversation.searched(request, messages, usage, to=before)
            if found is None:
                if RULES[self.asked.format].continues_by_id:
                    self._found = before.conversation.found_beside(messages)
                return None
            self.prepared = found
            return self._encoded(found)
        self.problem = f"{type(searching.error).__name__} while the history was searched"
        return None

    def link(self, ids: tuple[str, str] | None) -> None:
        """Note under which id the client was shown a response that the provider knows by another."""
        if ids is not None:
            self._flow.links.note(self.asked.credentials, *ids, self._found or ())

    def reply(self, status: int, content_type: str, *, encoded: bool = False) -> Reply:
        """A reader of the reply."""
        can_retry = not self.is_retry and self.lane != "other"
        return Reply(self.asked.format, status, content_type, encoded=encoded, can_retry=can_retry)

    def finish(self, reply: Reply | None) -> None:
        """Record the answer; None, or a reply that is not complete: there was none. On a worker, after all else."""
        prepared = self.prepared
        if prepared is None or prepared.conversation is None:
            return
        with ErrorCatcher() as recording:
            if reply is None or not reply.is_complete:
                prepared.conversation.released()
                return
            messages, usage = reply.answer()
            problem = prepared.conversation.answered(messages, usage, to=prepared, found=self._found)
            self.problem = problem or self.problem
        if recording.error is not None:
            self.problem = f"{type(recording.error).__name__} while an answer was recorded"

    def _decided(self) -> bytes | None:
        text = self.asked.text
        if RULES[self.asked.format].continues_by_id and self._flow.links.may_follow(text):
            self._may_follow = len(text) > READ_AT_ONCE_BYTES_MAX
            return None if self._may_follow else self._followed() or self._known_to_fit()
        return self._known_to_fit()

    def _followed(self) -> bytes | None:
        """The body to send for one that goes on from a response that is remembered."""
        found = self._flow.links.followed(self.asked.credentials, self.asked.text)
        if found is not None:
            self.lane = "other"
        return found

    def _known_to_fit(self) -> bytes | None:
        """The body as it came, where that fits for certain."""
        asked = self.asked
        if asked.name is not None:
            return None
        gate = self._flow.gate
        if gate.must_read(self._key, asked.text):
            return None
        found = gate.find(self._key, asked.text)
        if found is not None:
            self.lane, track, added = found
            room = (track.room_tokens or 0) - added
            self._track = track if self.lane == "same" else gate.passed(self._key, asked.text, room, after=track)
            return asked.raw
        self._may_be_small = len(asked.text) > READ_AT_ONCE_BYTES_MAX
        return None if self._may_be_small else self._small()

    def _small(self) -> bytes | None:
        """A request that fits even if each of its bytes is a token."""
        asked = self.asked
        request = object_in(asked.text)
        parts = None
        with ErrorCatcher():  # the provider says what is wrong with it
            parts = None if request is None else parts_of(request, asked.format)
        if parts is None:
            self.lane = "other"
            return asked.raw
        room = self._flow.conversations.free_tokens(parts, window_tokens=asked.window_tokens)
        if len(asked.text) + MARGIN_TOKENS > room or may_hold_media(asked.text):
            return None
        self.lane = "small"
        self._track = self._flow.gate.passed(self._key, asked.text, room - len(asked.text) - MARGIN_TOKENS)
        return asked.raw

    def _learn(self, prepared: Prepared) -> None:
        """What is known of the size of the request now."""
        gate = self._flow.gate
        if prepared.changed or prepared.conversation is None:
            self._track = gate.passed(self._key, self.asked.text, None, after=self._track)
        elif self._track is None:
            self._track = gate.passed(self._key, self.asked.text, prepared.room_tokens)
        else:
            self._track.room_tokens = prepared.room_tokens

    def _encoded(self, prepared: Prepared) -> bytes:
        if not prepared.changed:
            return self.asked.raw
        body = json.dumps(prepared.body, separators=(",", ":"), allow_nan=False).encode("ascii")
        self._offering = body if prepared.offers_tools else None
        return body
