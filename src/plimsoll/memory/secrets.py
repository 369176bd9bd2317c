"""Text that looks like a key, a token or a password, which no memory may hold."""

from __future__ import annotations

import math
import re
from collections import Counter

from plimsoll.regex import regex

_KNOWN = regex(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY|\b(?:sk|pk|rk|whsec)[-_][A-Za-z0-9_-]{8,}|\b(?:gh[pousr]|"
    r"github_pat|glpat|npm|pypi|hf|dop_v1)[-_]"
    r"[A-Za-z0-9_-]{10,}|\b(?:AKIA|ASIA|AIza|ya29\.)[A-Za-z0-9_-]{8,}|\bxox[abeoprs]-[A-Za-z0-9-]{6,}|"
    r"\bSG\.[A-Za-z0-9_-]{10,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}|://[^\s/:@]{1,100}:[^\s/@]{1,200}@"
)
"""Shapes of keys and tokens that their issuers made recognisable, and addresses with a password."""

_NAMED = regex(
    r"\b(?:pass ?(?:word|phrase|code)s?|passwd|pwd|secrets?|(?:api|access|secret|private|auth|signing|"
    r"encryption|license|ssh|recovery)"
    r"[ _-]?(?:keys?|tokens?|codes?)|(?<!max )tokens?|credentials?|bearer|pin|cvv|otp|ssn|seed phrase)\b|"
    r"api_?key|密码|口令|密钥|私钥|令牌|验证码|助记词|通行码",
    re.IGNORECASE,
)
_VALUE = regex(r"(?:[:=：]|\b(?:is|are|as|was|be|to)\b|是|为|改成|设为|'s )\s*[\"'“`]?\s*\S|[\"'“`]\S")
"""What stands between the name of a secret and the secret itself."""

_RUN = regex(r"[A-Za-z0-9+/_=.~!@#$%^&*-]{16,}")
_CARD = regex(r"\b(?:[0-9][ -]?){13,19}\b")
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
    named = _NAMED.search(text)
    if named is not None and _VALUE.search(text, named.end()):
        return True
    return any(map(_is_random, _RUN.findall(text)))


def _is_random(run: str) -> bool:
    """Whether a long run without spaces is random characters."""
    if _WORDY.fullmatch(run) and not any(len(part) >= 40 for part in run.split("/")):
        return False
    kinds = sum((any(map(str.isdigit, run)), any(map(str.isupper, run)), any(map(str.islower, run))))
    counts = Counter(run)
    bits = -sum(count / len(run) * math.log2(count / len(run)) for count in counts.values())
    return kinds >= 2 and bits >= _BITS_MIN
