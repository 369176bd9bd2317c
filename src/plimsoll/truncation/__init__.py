"""Cutting text to a number of tokens: the one way in which text becomes shorter in a view."""

from plimsoll.truncation.json_text import cut_json
from plimsoll.truncation.text import Cut, Keep, cut_text, truncate_to_tokens

__all__ = ["Cut", "Keep", "cut_json", "cut_text", "truncate_to_tokens"]
