"""Secrets of each known form are replaced in what is recorded, put back in what is sent, and nothing else is touched."""

from __future__ import annotations

import json

import pytest

from plimsoll.conversations.redaction import Redaction
from spent import cpu_s

KEY = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0"
SECRETS = {
    "anthropic": f"sk-ant-api03-{KEY}",
    "openai": f"sk-proj-{KEY}",
    "openai of old": f"sk-{KEY}",
    "github": f"ghp_{KEY[:36]}",
    "github, fine-grained": f"github_pat_{KEY[:22]}_{KEY}",
    "gitlab": f"glpat-{KEY[:20]}",
    "slack": "xoxb-123456789012-abcdefABCDEF",
    "aws": "AKIAIOSFODNN7EXAMPLE",
    "google": f"AIza{KEY[:35]}",
    "stripe": f"sk_live_{KEY[:24]}",
    "hugging face": f"hf_{KEY[:34]}",
    "npm": f"npm_{KEY[:36]}",
    "pypi": f"pypi-AgEIcHlwaS5vcmc{KEY}",
    "sendgrid": f"SG.{KEY[:22]}.{KEY}abc",
    "jwt": f"eyJhbGciOiJIUzI1NiJ9.eyJ{KEY}.{KEY}",
    "private key": f"-----BEGIN RSA PRIVATE KEY-----\n{KEY}\n{KEY}\n-----END RSA PRIVATE KEY-----",
}
ASSIGNED = {
    "a header": ("curl -H 'Authorization: Bearer {}'", KEY),
    "a URL": ("postgres://admin:{}@db.internal:5432/app", "s3cr3t-Pa55"),
    "a setting": ('password = "{}"', "hunter2-hunter2"),
    "JSON": ('{{"api_key": "{}"}}', "0123456789abcdef"),
    "JSON in JSON": (r"{{\"client_secret\": \"{}\"}}", "0123456789abcdef"),
    "aws": ("aws_secret_access_key = {}", KEY),
}


@pytest.mark.parametrize("kind", SECRETS)
@pytest.mark.parametrize("around", ["{}", "The key is {}, use it.", "export KEY={}\n", '{{"key":"{}"}}', "({})"])
def test_known_forms(kind, around):
    """Wherever they stand."""
    text = around.format(SECRETS[kind])
    redaction = Redaction()
    found = redaction(text)
    assert SECRETS[kind] not in found
    assert "[secret " in found
    assert redaction.restored(found) == text
    assert Redaction()(text) == found


@pytest.mark.parametrize("kind", ASSIGNED)
def test_assigned_secrets(kind):
    """Only the value is replaced."""
    around, secret = ASSIGNED[kind]
    text, redaction = around.format(secret), Redaction()
    found = redaction(text)
    assert secret not in found
    assert found.split("[secret ")[0] == text.split(secret)[0]
    assert redaction.restored(found) == text


@pytest.mark.parametrize(
    "text",
    [
        "The token is counted, and the secret of success is a key idea: patience.",
        "def tokens(key: str, secret: bool = False) -> int: ...",
        "See https://example.org/a:b@c and mailto:someone@example.org",
        "sk-learn-compatible-estimators-are-here-for-you",
        "sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "commit 9f2b1c0d9f2b1c0d9f2b1c0d9f2b1c0d9f2b1c0d",
        "if password is None: raise ValueError('password')",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "[secret openai-key 12345678]",
        "",
    ],
)
def test_plain_text_stays(text):
    """And is the same object."""
    redaction = Redaction()
    assert redaction(text) is text
    assert redaction.found == {}


def test_values_are_copied_only_where_they_change():
    """Everything else is shared, and what is signed or refers to others is never edited."""
    secret = SECRETS["anthropic"]
    clean = {"role": "user", "content": "Hello."}
    held = {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": f"key {secret}", "signature": secret}],
        "tool_calls": [{"id": secret, "function": {"arguments": json.dumps({"key": secret})}}],
    }
    redaction = Redaction()
    found = redaction([clean, held])
    assert found[0] is clean
    assert found[1]["content"][0]["signature"] == secret
    assert found[1]["tool_calls"][0]["id"] == secret
    assert secret not in found[1]["content"][0]["thinking"] + found[1]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(found[1]["tool_calls"][0]["function"]["arguments"])
    assert redaction.restored(found) == [clean, held]
    assert redaction([clean]) == [clean]


def test_the_requests_own_key_is_a_secret_of_any_form():
    """Also if it looks like nothing in particular; very short words are not taken for keys."""
    redaction = Redaction(["Bearer", "correct-horse-battery"])
    assert (
        redaction("It is correct-horse-battery; Bearer of news")
        == f"It is {next(iter(redaction.found))}; Bearer of news"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["sk-", "key=", "-----BEGIN PRIVATE KEY-----", "eyJaaaaaaaaa.", "://a:", "password: ' ", "bearer ", "a"]
)
def test_hostile_texts_take_linear_time(piece):
    """Twice the text takes about twice the time."""
    once, twice = (
        min(cpu_s(Redaction(), piece * (size // len(piece))) for _ in range(3)) for size in (200_000, 400_000)
    )
    assert twice < 3.5 * once + 0.05


def test_the_arguments_of_a_call_are_no_sealed_fields():
    """Whatever a tool calls them; the fields of the message with the same names stay."""
    call = {
        "type": "tool_use",
        "id": SECRETS["github"],
        "input": {"data": SECRETS["github"], "id": [SECRETS["github"]]},
    }
    redaction = Redaction()
    found = redaction([call])
    assert found[0]["id"] == SECRETS["github"]
    assert SECRETS["github"] not in json.dumps(found[0]["input"])
    assert redaction.restored(found) == [call]
