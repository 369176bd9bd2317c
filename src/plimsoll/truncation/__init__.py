"""Cutting text to a number of tokens. All text that gets shorter in a view is cut here."""

from plimsoll.truncation.json_text import cut_json
from plimsoll.truncation.text import Cut, Keep, cut_text

__all__ = ["Cut", "Keep", "cut_json", "cut_text"]
