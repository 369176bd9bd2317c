"""Text that looks like a key, a token or a password, which no memory may hold."""

from __future__ import annotations

import math
import re
from collections import Counter

from plimsoll.light.regex import regex

_KNOWN = regex(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY|\b(?:sk|pk|rk|whsec)[-_][A-Za-z0-9_-]{8,}|\b(?:gh[pousr]|github_pat|glpat"
    r"|npm|pypi|hf|dop_v1)[-_][A-Za-z0-9_-]{10,}|\b(?:AKIA|ASIA|AIza|ya29\.)[A-Za-z0-9_-]{8,}"
    r"|\bxox[abeoprs]-[A-Za-z0-9-]{6,}|\bSG\.[A-Za-z0-9_-]{10,}|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}"
    r"|://[^\s/:@]{1,100}:[^\s/@]{1,200}@"
)
"""Shapes of keys and tokens that their issuers made recognisable, and addresses with a password."""

_NAMED = regex(
    r"\b(?:pass ?(?:word|phrase|code)s?|passwd|pwd|secrets?|(?:api|access|secret|private|auth|signing|"
    r"encryption|license|ssh|recovery|security|verification|door|gate|alarm|entry)"
    r"[ _-]?(?:keys?|tokens?|codes?)|(?<!max )tokens?|credentials?|bearer|pin|cvv|otp|ssn|seed phrase)\b|"
    r"api_?key|密码|口令|密钥|私钥|令牌|验证码|助记词|通行码",
    re.IGNORECASE,
)
_VALUE = regex(r"(?:[:=：]|\b(?:is|are|as|was|be|to)\b|是|为|改成|设为|'s )\s*[\"'“`]?\s*\S|[\"'“`]\S")
"""What stands between the name of a secret and the secret itself."""

_JOINT = regex(r"_(?!tokens\b)|(?<=[a-z])(?=[A-Z])(?!Tokens\b)")
"""What joins the words of an identifier; tokens that are counted are no secret."""

_BESIDE = regex(r"\W{0,3}(?:(?:for|of|on|to|at|in) (?:the )?[\w.-]{1,40}\W{1,3})?(?=[!-~]{0,63}[0-9])[!-~]{4}")
_AHEAD = regex(r"(?=[!-~]{0,63}[0-9])[!-~]{4,64}\s?(?:(?:is|was|as) (?:\w{1,20} ){0,3}|[是为]\w{0,6})$")
"""A word with a digit in it right after the name of a secret, and one right before it, as in "X is my password"."""

_AHEAD_CHARS = 120

_RUN = regex(r"[A-Za-z0-9+/_=.~!@#$%^&*-]{16,}")
_CARD = regex(r"\b(?:[0-9][ -]?){13,19}\b|\b[0-9]{3}-[0-9]{2}-[0-9]{4}\b")
_WORDY = regex(
    r"[A-Za-z]+(?:[-_./][A-Za-z]+)*[0-9]{0,4}|[a-z]+(?:[A-Z][a-z]+)+|[\w.-]+@[\w.-]+|[0-9./:-]+|https?:.*|"
    r"(?:[\w.~-]*/)+[\w.~-]*"
)
"""Names, addresses, dates and paths: long runs that are no secret."""

_BITS_MIN = 3.2
"""Entropy per character above which a long run is random. English words joined have about 3."""


def holds_secret(text: str) -> bool:
    """Whether a text holds, or may hold, a key, a token, a password or the like. Linear time."""
    if _KNOWN.search(text) or _CARD.search(text):
        return True
    return _names_secret(_JOINT.sub(" ", text)) or any(map(_is_random, _RUN.findall(text)))


def _names_secret(text: str) -> bool:
    """Whether a text says what a secret is called and, beside it, what it is."""
    first = _NAMED.search(text)
    if first is None or _VALUE.search(text, first.end()):
        return first is not None
    return any(
        _BESIDE.match(text, named.end()) or _AHEAD.search(text[max(0, named.start() - _AHEAD_CHARS) : named.start()])
        for named in _NAMED.finditer(text)
    )


def _is_random(run: str) -> bool:
    """Whether a long run without spaces is random characters."""
    if _WORDY.fullmatch(run) and not any(len(part) >= 40 for part in run.split("/")):
        return False
    kinds = sum((any(map(str.isdigit, run)), any(map(str.isupper, run)), any(map(str.islower, run))))
    counts = Counter(run)
    bits = -sum(count / len(run) * math.log2(count / len(run)) for count in counts.values())
    return kinds >= 2 and bits >= _BITS_MIN
