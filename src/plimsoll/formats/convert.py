"""The public functions `convert` and `validate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from plimsoll.errors import FormatError
from plimsoll.formats.detect import RequestContext
from plimsoll.formats.format import Converted, Loss, SystemText, Violation
from plimsoll.formats.intake import Received, decode_received, received
from plimsoll.formats.registry import format_named, format_of
from plimsoll.formats.system_text import system_message
from plimsoll.formats.wire import copied, exact
from plimsoll.light.dataclass import replace
from plimsoll.message import FormatName, Wire


def convert(  # noqa: PLR0913 - the options of the contract
    messages: Sequence[Any],
    *,
    to: FormatName,
    format: FormatName | None = None,
    system: SystemText = None,
    model: str | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
) -> Converted:
    """The conversation in the format `to`. What the target cannot represent is listed in `.losses`.

    Calls and their results stay together and in order, and a result always directly follows its call. A call without a result
    gets one that says so, except the last calls where one answer of the model is all there is: it is taken for a reply that is
    converted by itself, and nothing is put before it. The input is not changed.

    Args:
        messages: dicts in a provider's format, or objects of its SDK.
        to: the format to write.
        format: the format they are in; None detects it, also from the `system`, `model` and `tools` of their request.
        system: the system text that Anthropic keeps outside the messages: text, or text blocks.
        model: the model of their request.
        tools: the tool definitions of their request.

    Returns: the messages, and with `to="anthropic"` leading system messages in `.system` (None: there are none).

    Raises: FormatError for messages that are invalid in their format, SettingError for an unknown format.

    """
    target = format_named(to)
    taken = received(messages)
    context = RequestContext(model=model, system=system, tools=tools)
    decoded = decode_received(taken, format_of(taken, format, context))
    leading = [] if system is None else [system_message(system)]
    rendered = target.render([*leading, *decoded])
    losses = [_shifted(loss, len(leading), taken) for loss in rendered.losses]
    return replace(rendered, losses=losses)


def _shifted(loss: Loss, leading: int, taken: Received) -> Loss:
    """The loss with its position in the caller's messages."""
    where = loss.position
    if where is None:
        return loss
    return replace(loss, position=taken.place(where - leading) if where >= leading else None)


def validate(
    messages: Sequence[Any],
    *,
    format: FormatName | None = None,
    system: SystemText = None,
    model: str | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
) -> list[Violation]:
    """What the provider would reject, in order of position; empty if the messages are valid.

    Args:
        messages: as in `convert`.
        format: the format they are in; None detects it, also from the `system`, `model` and `tools` of their request.
        system: checked with Anthropic messages; violations in it have no position.
        model: the model of their request.
        tools: checked with messages of OpenAI and Anthropic; violations in them have no position.

    Raises: FormatError for anything but a list of JSON objects, for nesting deeper than limits.NESTING_DEPTH_MAX, or if the format
    cannot be detected. Invalid values inside a message are violations.

    """
    taken = received(messages)
    checked: list[Wire] = []
    for position, wire in enumerate(taken.wires):
        try:
            checked.append(copied(wire))
        except FormatError as error:
            raise FormatError(error.reason, position=taken.place(position)) from None
    found = format_of(taken._replace(wires=checked), format, RequestContext(model=model, system=system, tools=tools))
    offered = [tool for tool in map(exact, tools or ()) if isinstance(tool, Mapping)]
    violations = found.validate(checked, system=system, tools=offered)
    return [one if one.position is None else replace(one, position=taken.place(one.position)) for one in violations]
