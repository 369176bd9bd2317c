"""The rules of each provider, as data: code outside this package depends on them and not on provider names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from plimsoll.light.dataclass import dataclass
from plimsoll.message import FormatName


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The rules of one format. The defaults accept anything in any order."""

    name: FormatName

    # --- ids, names and fields
    call_id_chars_max: int | None = None
    """Maximum characters of a call's id, from the providers' error messages (for Anthropic's format from Bedrock's)."""
    tool_name_chars_max: int | None = None
    """Maximum characters of a tool's name in a call, from the providers' error messages."""
    strict_ids: bool = False
    """A call's id is letters, digits, `_` and `-`, and unique in the conversation."""
    rewrites_ids: bool = False
    """A conversion to this format may rewrite ids; a conversion from it restores them."""
    has_names: bool = False
    """A message has a field for its author's name."""
    has_error_flag: bool = False
    """A tool result has a field for failure."""
    keeps_message_fields: bool = False
    """Other fields of a message (its id) belong to the message, not to its content: they stay when the content is replaced."""
    messages_key: str = "messages"
    """The field of a request that holds the messages."""
    system_key: str = "system"
    """The field of a request that holds separate system text."""
    names_events: bool = False
    """The events of a streamed answer have names."""
    continues_by_id: bool = False
    """A request may go on from an earlier answer by its id, and the provider knows the conversation up to there."""

    # --- order
    user_first: bool = False
    """The first message must be the user's. Leading system text is sent outside the messages, or in the user's role."""
    joins_roles: bool = False
    """Neighbouring messages of one role are read as one message."""
    splits_answers: bool = False
    """An answer of the model is sent as items: its text, its reasoning and each call are separate messages."""
    results_inside: bool = False
    """A result is in the message of its call."""
    results_anywhere: bool = False
    """A result may come anywhere after its call; otherwise it must directly follow the message of its call."""
    results_first: bool = False
    """The results of one answer come in one message, before everything else in it."""

    pairs_served: bool = False
    """Calls that the provider runs itself and their results are both in the messages, and are refused one without the other."""

    # --- content
    refuses_blank_text: bool = False
    """Blank texts are rejected, also as one of several blocks, and so is a failed result without text."""
    refuses_thinking_last: bool = False
    """An assistant message must not end in thinking."""
    continues_last: bool = False
    """A final assistant message is continued by the model: it may be empty, but must not end in white space."""
    cache_field: str = ""
    """The field that marks a block for the provider's cache."""
    cache_marks_max: int | None = None
    """Blocks of a request that may be marked."""

    @property
    def joins_answers(self) -> bool:
        """True if consecutive assistant messages are one answer: its results may come after all of them."""
        return self.joins_roles or self.splits_answers


RULES: Final[Mapping[FormatName, Rules]] = {
    rules.name: rules
    for rules in (
        Rules(
            name="openai-chat",
            call_id_chars_max=40,
            tool_name_chars_max=64,
            has_names=True,
            cache_field="prompt_cache_breakpoint",
        ),
        Rules(
            name="openai-responses",
            call_id_chars_max=64,
            tool_name_chars_max=128,
            messages_key="input",
            system_key="instructions",
            names_events=True,
            continues_by_id=True,
            splits_answers=True,
            results_anywhere=True,
            cache_field="prompt_cache_breakpoint",
        ),
        Rules(
            name="anthropic",
            call_id_chars_max=64,
            tool_name_chars_max=200,
            names_events=True,
            strict_ids=True,
            rewrites_ids=True,
            has_error_flag=True,
            user_first=True,
            joins_roles=True,
            results_first=True,
            pairs_served=True,
            refuses_blank_text=True,
            refuses_thinking_last=True,
            continues_last=True,
            cache_field="cache_control",
            cache_marks_max=4,
        ),
        Rules(
            name="ui-parts",
            rewrites_ids=True,
            has_error_flag=True,
            keeps_message_fields=True,
            results_inside=True,
        ),
    )
}
