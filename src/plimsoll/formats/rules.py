"""What each provider takes, as data: the rules that code outside this package goes by instead of a provider's name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from plimsoll.dataclass import dataclass
from plimsoll.message import FormatName


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The rules of one format. The defaults are those of a format that takes anything in any order."""

    name: FormatName

    # --- ids, names and fields
    call_id_chars_max: int | None = None
    """Characters of a call's id, from the providers' own refusals; for Anthropic's format from Bedrock, which takes it too."""
    tool_name_chars_max: int | None = None
    """Characters of a tool's name in a call, from the providers' own refusals."""
    strict_ids: bool = False
    """A call's id is letters, digits, `_` and `-`, and unique in the conversation."""
    rewrites_ids: bool = False
    """A conversion to this format may write another id, which a conversion from it reads back."""
    has_names: bool = False
    """A message has a field for the name of who speaks."""
    has_error_flag: bool = False
    """A tool result has a field for failure."""
    keeps_message_fields: bool = False
    """The other fields of a message (its id) belong to the message, not to its content: they stay when that is replaced."""
    messages_key: str = "messages"
    """The field of a request that holds the messages."""
    system_key: str = "system"
    """The field of a request that holds system text kept outside the messages."""

    # --- order
    user_first: bool = False
    """The first message has to be the user's. Leading system text is sent outside the messages, or in the user's role."""
    joins_roles: bool = False
    """Neighbouring messages of one role are read as one message."""
    splits_answers: bool = False
    """An answer of the model is sent in items: its text, its reasoning and each call are messages of their own."""
    results_inside: bool = False
    """A result is in the message of its call."""
    results_anywhere: bool = False
    """A result may come anywhere after its call; elsewhere it comes directly after the message of its call."""
    results_first: bool = False
    """The results of one answer come in one message, before everything else in it."""

    # --- content
    refuses_blank_text: bool = False
    """Blank texts are refused, also as one of several blocks, and so is a failed result without text."""
    refuses_thinking_last: bool = False
    """A message of the assistant may not end in thinking."""
    continues_last: bool = False
    """A last message of the assistant is continued by the model: it may be empty, but may not end in white space."""
    cache_field: str = ""
    """The field that marks a block for the provider's cache."""
    cache_marks_max: int | None = None
    """Blocks of a request that may be marked."""

    @property
    def joins_answers(self) -> bool:
        """Whether messages of the assistant in a row are one answer: its results may come after all of them."""
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
            splits_answers=True,
            results_anywhere=True,
            cache_field="prompt_cache_breakpoint",
        ),
        Rules(
            name="anthropic",
            call_id_chars_max=64,
            tool_name_chars_max=200,
            strict_ids=True,
            rewrites_ids=True,
            has_error_flag=True,
            user_first=True,
            joins_roles=True,
            results_first=True,
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
