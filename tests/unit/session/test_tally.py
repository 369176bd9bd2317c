"""The entries of a view are added up when somebody asks, each once."""

from __future__ import annotations

from plimsoll.compaction.tally import Tally
from plimsoll.compaction.view_message import ViewMessage
from plimsoll.message import Message, text_message


class Scales:
    """Weighs a message by its characters, times a factor, and notes which it weighed."""

    def __init__(self, factor: int = 1) -> None:
        self.factor = factor
        self.weighed: list[str] = []

    def __call__(self, message: Message) -> int:
        """What it weighs."""
        self.weighed.append(message.text)
        return len(message.text) * self.factor

    def entries(self, *texts: str) -> list[ViewMessage]:
        """Texts as entries on these scales."""
        return [
            ViewMessage(shown=text_message("user", text), count_message=self, position=index)
            for index, text in enumerate(texts)
        ]


def test_entries_are_weighed_when_asked_for_and_once() -> None:
    """Showing entries weighs none; asking for a size weighs those that came since it was asked for last."""
    scales = Scales()
    tally = Tally(scales.entries("a", "bb"))
    tally.entries += scales.entries("ccc")

    assert scales.weighed == []
    assert tally.tokens == 6
    tally.entries += scales.entries("dddd")
    assert (tally.tokens, tally.tokens) == (10, 10)
    assert scales.weighed == ["a", "bb", "ccc", "dddd"]


def test_what_was_there_is_not_fresh() -> None:
    """Fresh tokens are those of the entries shown since the beginning, whichever size is asked for first."""
    scales = Scales()
    tally = Tally(scales.entries("a", "bb"))

    assert tally.fresh_tokens == 0
    tally.entries += scales.entries("ccc")
    assert (tally.fresh_tokens, tally.tokens) == (3, 6)
    assert Tally().fresh_tokens == 0


def test_other_scales_weigh_all_of_it_anew() -> None:
    """Weighed again, the whole and what is fresh of it are both what the new scales say."""
    tally = Tally(Scales().entries("a", "bb"))
    tally.entries += Scales().entries("ccc")
    assert tally.tokens == 6

    again = tally.recounted(Scales(10))

    assert (again.tokens, again.fresh_tokens) == (60, 30)
    assert [entry.message.text for entry in again.entries] == ["a", "bb", "ccc"]
