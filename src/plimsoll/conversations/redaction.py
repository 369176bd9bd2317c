"""Secrets are replaced by placeholders before anything is written, and put back in what is sent.

A host sends its whole list with each request, so the secrets of a view are in the request that it is made for: the log never
needs them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

from plimsoll.formats.provenance import tag_of
from plimsoll.formats.wire import alike
from plimsoll.light.named_tuple import NamedTuple
from plimsoll.light.regex import regex


class _Kind(NamedTuple):
    """One kind of secret."""

    name: str
    hints: tuple[str, ...]
    """In lower case: a text without any of them holds no such secret."""
    pattern: re.Pattern[str]
    """The secret is its group `secret`, else all of it."""


def _kind(name: str, hints: str, pattern: str) -> _Kind:
    return _Kind(name, tuple(hints.split()), regex(pattern))


_KINDS: Final = (
    _kind(
        "private-key",
        "-----begin",
        r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]{1,16000}-----END [A-Z ]{0,30}PRIVATE KEY-----",
    ),
    _kind("anthropic-key", "sk-ant-", r"\bsk-ant-[A-Za-z0-9_-]{20,200}"),
    _kind("openai-key", "sk-", r"\bsk-(?=[A-Za-z_-]{0,200}[0-9])[A-Za-z0-9_-]{20,250}"),
    _kind("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"\bgh[pousr]_[A-Za-z0-9]{30,255}"),
    _kind("github-token", "github_pat_", r"\bgithub_pat_[A-Za-z0-9_]{22,255}"),
    _kind("gitlab-token", "glpat-", r"\bglpat-[A-Za-z0-9_-]{20,100}"),
    _kind("slack-token", "xox", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,250}"),
    _kind("aws-key", "akia asia", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    _kind("google-key", "aiza", r"\bAIza[0-9A-Za-z_-]{35}"),
    _kind("stripe-key", "k_live_ k_test_", r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,250}"),
    _kind("huggingface-token", "hf_", r"\bhf_[A-Za-z0-9]{30,100}"),
    _kind("npm-token", "npm_", r"\bnpm_[A-Za-z0-9]{36}\b"),
    _kind("pypi-token", "pypi-", r"\bpypi-[A-Za-z0-9_-]{50,400}"),
    _kind("sendgrid-key", "sg.", r"\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
    _kind("jwt", "eyj", r"\beyJ[A-Za-z0-9_-]{8,4000}\.eyJ[A-Za-z0-9_-]{8,8000}\.[A-Za-z0-9_-]{8,2000}"),
    _kind("bearer", "bearer", r"(?i:bearer) (?P<secret>[A-Za-z0-9._~+/=-]{20,4000})"),
    _kind("url-password", "://", r"://[^\s/:@\"']{1,100}:(?P<secret>[^\s/@\"']{3,200})@"),
    _kind("aws-secret", "aws", r"(?i:secret[a-z_]{0,20})\s{0,4}[:=]\s{0,4}(?P<secret>[A-Za-z0-9/+]{40})\b"),
    _kind(
        "password",
        "passw key secret token",
        r"(?i:passw(?:or)?d|key|secret|token)\\?[\"']?\s{0,4}[:=]\s{0,4}\\?[\"'](?P<secret>[^\s\"'\\]{8,300})",
    ),
)
_PLACEHOLDER = regex(r"\[secret [a-z-]{3,20} [0-9a-f]{8}\]")
_SEALED: Final = frozenset({"signature", "encrypted_content", "data", "image_url", "id", "call_id", "tool_use_id"})
"""Fields that are signed, encrypted, or refer to others: never edited, except in the arguments of a call."""

_ARGUMENTS: Final = "input"

CLEAN_TEXTS_MAX: Final = 200_000
"""Texts that are remembered to hold no secret, by their hash."""

_clean: set[int] = set()

CREDENTIAL_CHARS_MIN: Final = 12
"""Shorter texts than this are not taken for the request's own credential."""


class Redaction:
    """The secrets of one request. Calling it gives a value with placeholders; `restored` puts the secrets back."""

    def __init__(self, credentials: Iterable[str] = (), *, is_on: bool = True) -> None:
        """`credentials` are redacted too: the keys that came with the request itself. If not `is_on` nothing is."""
        self.found: dict[str, str] = {}
        """Secrets by their placeholder."""
        self.occurrences: list[tuple[str, str]] = []
        """Placeholder and secret, as often as they occur."""
        self._is_on = is_on
        self.credentials = tuple(text for text in credentials if len(text) >= CREDENTIAL_CHARS_MIN)

    def __call__(self, value: Any) -> Any:
        """The value with placeholders; itself, not a copy, if it holds no secret."""
        return _mapped(value, self._redacted) if self._is_on else value

    def note(self, occurrences: Iterable[tuple[str, str]]) -> None:
        """Take the secrets of a text that was redacted before."""
        for mark, secret in occurrences:
            self.found[mark] = secret
            self.occurrences.append((mark, secret))

    def restored(self, value: Any) -> Any:
        """The value with the secrets again."""
        return _mapped(value, self._restored) if self.found else value

    def _redacted(self, text: str) -> str:
        for credential in self.credentials:
            if credential in text:
                mark = self._mark("credential", credential)
                self.occurrences += [(mark, credential)] * (text.count(credential) - 1)
                text = text.replace(credential, mark)
        return text if hash(text) in _clean else self._searched(text)

    def _searched(self, text: str) -> str:
        """The text after a search for secrets of each kind. That it has none is remembered, since hosts send all of it again."""
        given, lowered = text, text.lower()
        for kind in _KINDS:
            if any(hint in lowered for hint in kind.hints):
                text = kind.pattern.sub(partial(self._replaced, kind.name), text)
        if text == given:
            if len(_clean) >= CLEAN_TEXTS_MAX:
                _clean.clear()
            _clean.add(hash(text))
        return text

    def _replaced(self, kind: str, match: re.Match[str]) -> str:
        whole = match[0]
        secret = match.groupdict().get("secret") or whole
        if _PLACEHOLDER.search(whole):
            return whole
        at = whole.rfind(secret)
        return f"{whole[:at]}{self._mark(kind, secret)}{whole[at + len(secret) :]}"

    def _mark(self, kind: str, secret: str) -> str:
        mark = f"[secret {kind} {tag_of(secret)}]"
        self.found[mark] = secret
        self.occurrences.append((mark, secret))
        return mark

    def _restored(self, text: str) -> str:
        return _PLACEHOLDER.sub(lambda match: self.found.get(match[0], match[0]), text) if "[secret " in text else text


def _mapped(value: Any, change: Callable[[str], str], sealed: frozenset[str] = _SEALED) -> Any:
    """A JSON value with each text changed; the same object where nothing is."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        new = {
            key: item if key in sealed else _mapped(item, change, frozenset() if key == _ARGUMENTS else sealed)
            for key, item in value.items()
        }
        return alike(new, value) if any(new[key] is not item for key, item in value.items()) else value
    if isinstance(value, list | tuple):
        items = [_mapped(item, change, sealed) for item in value]
        return items if any(one is not other for one, other in zip(items, value, strict=True)) else value
    return value
