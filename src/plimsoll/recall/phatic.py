"""Sentences that keep a talk going and tell nothing: greetings, thanks, agreement. Hits neither begin nor end with them."""

from __future__ import annotations

from plimsoll.regex import regex

_SENTENCE = regex(r"[^.!?。！？\n]{1,120}(?:[.!?。！？~]+[\"')\]]?\s*|\s*$|\n+)")
_SPEAKER = regex(r"(?:\[[^\]\n]{1,80}\]\s{0,4})?[^\W\d][^:：\n.,;!?]{0,30}[:：]\s")
_ADDRESS = regex(r",? (?<=[a-z!, ] )[A-Z][a-z]{1,15}(?=[,.!?~]|\s*$)")
"""A name at the end of a clause: `Thanks, Ann!`"""
_WORD = regex(r"[^\W\d_]+(?:['’][a-z]+)?|[0-9]+")
_EMPTY = frozenset(
    (
        "a about absolutely agree agreed ah all alright always am amazing and anytime appreciate are as aw awesome aww "
        "beautiful best bet bye can can't catch cheers completely congrats congratulations cool course definitely do "
        "doing don't enjoy exactly excellent fantastic fine for forward fun gee glad gonna good goodbye gosh great ha "
        "haha happy have hear hello hey hi hope how how's i i'd i'll i'm i've incredible indeed inspiring is it it's "
        "just keep kind know later like lol looking lot love lovely luck lucky man me mean means much my nah nice no of "
        "oh ok okay okey on perfect please pleasure pretty problem proud ready really right see so soon sorry sound "
        "sounds super sure sweet take talk thank thanks that that's the then there these this to too totally true ttyl "
        "understand understood up very wait was way welcome well what what's wish wonderful wow yay yeah yep yes you "
        "you'll you're you've your yours yup "
    ).split()
)
_EMPTY_UNSPACED = regex(
    r"(?:[嗯哦噢啊呀哈好的呢吧啦了吗是对行那就我你您，,、～~\s]|谢谢|多谢|感谢|不客气|不用谢|再见|拜拜|可以|没错|知道|明白|这样|原来如此)+"
)


def told(text: str) -> tuple[int, int]:
    """Where a text begins and ends to tell something, without such sentences around it. `(0, 0)` if it has only those.

    Where the name of a speaker stands before the text, the beginning stays.
    """
    named = _SPEAKER.match(text)
    head = named.end() if named else 0
    start = stop = None
    at = head
    for found in _SENTENCE.finditer(text, head):
        if found.start() > at or not is_phatic(found[0]):
            start = at if start is None else start
            stop = found.end()
        at = found.end()
    if at < len(text):
        start, stop = at if start is None else start, len(text)
    if start is None or stop is None:
        return 0, 0
    return (0 if named else start), stop


def is_phatic(sentence: str) -> bool:
    """Whether a sentence tells nothing."""
    if not sentence.isascii() and _EMPTY_UNSPACED.fullmatch(sentence.strip(" 。！!？?.\n")):
        return True
    words = _WORD.findall(_ADDRESS.sub("", sentence).lower().replace("’", "'"))
    return len(words) <= 12 and all(word in _EMPTY for word in words) and "```" not in sentence
