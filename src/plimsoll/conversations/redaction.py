"""Secrets are replaced by placeholders before anything is written, and put back in what is sent.

A host sends its whole list with each request, so the secrets of a view are in the request that it is made for: the log never
needs them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from plimsoll.provenance import tag_of
from plimsoll.regex import regex

_KINDS: Final[tuple[tuple[str, str], ...]] = (
    ("private-key", r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]{1,16000}-----END [A-Z ]{0,30}PRIVATE KEY-----"),
    ("anthropic-key", r"\bsk-ant-[A-Za-z0-9_-]{20,200}"),
    ("openai-key", r"\bsk-(?=[A-Za-z_-]{0,200}[0-9])[A-Za-z0-9_-]{20,250}"),
    ("github-token", r"\b(?:gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_[A-Za-z0-9_]{22,255})"),
    ("gitlab-token", r"\bglpat-[A-Za-z0-9_-]{20,100}"),
    ("slack-token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,250}"),
    ("aws-key", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    ("google-key", r"\bAIza[0-9A-Za-z_-]{35}"),
    ("stripe-key", r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,250}"),
    ("huggingface-token", r"\bhf_[A-Za-z0-9]{30,100}"),
    ("npm-token", r"\bnpm_[A-Za-z0-9]{36}\b"),
    ("pypi-token", r"\bpypi-[A-Za-z0-9_-]{50,400}"),
    ("sendgrid-key", r"\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
    ("jwt", r"\beyJ[A-Za-z0-9_-]{8,4000}\.eyJ[A-Za-z0-9_-]{8,8000}\.[A-Za-z0-9_-]{8,2000}"),
    ("bearer", r"(?i:\bbearer )(?P<bearer>[A-Za-z0-9._~+/=-]{20,4000})"),
    ("url-password", r"://[^\s/:@\"']{1,100}:(?P<url_password>[^\s/@\"']{3,200})@"),
    (
        "password",
        r"(?i:\b[a-z0-9_-]{0,40}(?:passw(?:or)?d|_?-?key|secret|token))\\?[\"']?\s{0,4}[:=]\s{0,4}\\?[\"'](?P<password>[^\s\"'\\]{8,300})",
    ),
    ("aws-secret", r"(?i:aws_?secret[a-z_]{0,20})\s{0,4}[:=]\s{0,4}(?P<aws_secret>[A-Za-z0-9/+]{40})\b"),
)
_PATTERN = regex("|".join(f"(?P<k{number}>{pattern})" for number, (_, pattern) in enumerate(_KINDS)))
_PLACEHOLDER = regex(r"\[secret [a-z-]{3,20} [0-9a-f]{8}\]")
_HINTS: Final = re.compile(
    r"-----BEGIN|sk-|gh[pousr]_|github_pat_|glpat-|xox|AKIA|ASIA|AIza|k_live_|k_test_|hf_|npm_|pypi-|SG\.|eyJ|://"
    r"|(?i:bearer |passw|key|secret|token)"
)
"""Something of each kind, so that most texts are read once only, fast."""

_SEALED: Final = frozenset({"signature", "encrypted_content", "data", "image_url", "id", "call_id", "tool_use_id"})
"""Fields that are signed, encrypted, or refer to others: never edited."""

CREDENTIAL_CHARS_MIN: Final = 12
"""Shorter texts than this are not taken for the request's own credential."""


class Redaction:
    """The secrets of one request. Calling it gives a value with placeholders; `restored` puts the secrets back."""

    def __init__(self, credentials: Iterable[str] = ()) -> None:
        """`credentials` are redacted too: the keys that came with the request itself."""
        self.found: dict[str, str] = {}
        """Secrets by their placeholder."""
        self.occurrences: list[tuple[str, str]] = []
        """Placeholder and secret, as often as they occur."""
        self._credentials = [text for text in credentials if len(text) >= CREDENTIAL_CHARS_MIN]

    def __call__(self, value: Any) -> Any:
        """The value with placeholders; itself, not a copy, if it holds no secret."""
        return _mapped(value, self._redacted)

    def restored(self, value: Any) -> Any:
        """The value with the secrets again."""
        return _mapped(value, self._restored) if self.found else value

    def _redacted(self, text: str) -> str:
        for credential in self._credentials:
            if credential in text:
                mark = self._mark("credential", credential)
                self.occurrences += [(mark, credential)] * (text.count(credential) - 1)
                text = text.replace(credential, mark)
        return _PATTERN.sub(self._replaced, text) if _HINTS.search(text) else text

    def _replaced(self, match: re.Match[str]) -> str:
        kind = next(name for number, (name, _) in enumerate(_KINDS) if match[f"k{number}"] is not None)
        inner = match.groupdict().get(kind.replace("-", "_"))
        whole = match[0]
        secret = inner or whole
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


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON value with each text changed; the same object where nothing is."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        new = {key: item if key in _SEALED else _mapped(item, change) for key, item in value.items()}
        return new if any(new[key] is not item for key, item in value.items()) else value
    if isinstance(value, list | tuple):
        items = [_mapped(item, change) for item in value]
        return items if any(one is not other for one, other in zip(items, value, strict=True)) else value
    return value
