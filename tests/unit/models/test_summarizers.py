"""Summaries by models through the official SDKs, against a strict provider on this machine that answers as its script says."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from types import ModuleType

import anthropic
import openai
import pytest

import plimsoll
from loopback.agent import Answer
from loopback.server import Provider
from plimsoll.errors import MissingExtra, SettingError

PROSE = "The user asked to keep port 7411 open. The crane controller was moved to bay 12 and its test passes."
APIS = ("openai", "anthropic")


class Writer(Provider):
    """Answers each request by the next word of its script: a text, a status, or `slow`, `cut`, `malformed`."""

    def __init__(self, *script):
        super().__init__(10**6)
        self.script = list(script)

    def answer(self, path, body):
        """Status and answer."""
        dialect = self._dialects[path.partition("?")[0]]
        dialect.check({key: value for key, value in body.items() if key != "timeout"})
        self.bodies.append(body)
        word = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(word, int):
            return word, {"error": {"message": "no", "type": "rate_limit_error"}, "type": "error"}, dialect
        if word == "slow":
            time.sleep(0.6)
        wire = dialect.respond(Answer(text="" if word in {"slow", "cut", "malformed"} else word, thinking=""), 0, body)
        if word == "cut":
            ended = (
                {"choices": [{**wire["choices"][0], "finish_reason": "length"}]}
                if "choices" in wire
                else {"stop_reason": "max_tokens"}
            )
            wire.update(ended)
        return (200, {"nothing": "here"}, dialect) if word == "malformed" else (200, wire, dialect)


def client(api, provider, *, is_async=False):
    """A client of the official SDK that asks the provider; a context manager."""
    module = openai if api == "openai" else anthropic
    made = getattr(module, ("Async" if is_async else "") + ("OpenAI" if api == "openai" else "Anthropic"))
    return made(api_key="sk-none", base_url=provider.url + ("/v1" if api == "openai" else ""), max_retries=0)


def fitted(api, provider, messages, **options):
    """What `fit` makes of the messages with a model's summary."""
    with client(api, provider) as asked:
        summarizer = plimsoll.model_summarizer(f"{api}:small", client=asked, **options)
        return plimsoll.fit(messages, max_tokens=1_500, summarizer=summarizer)


def history(turns=60):
    """Talk that is too long for 1,500 tokens."""
    return [
        {
            "role": ("user", "assistant")[n % 2],
            "content": f"Turn {n}: crane {n} moved pallet {n * 37} to bay {n % 9}. " * 4,
        }
        for n in range(turns)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("api", APIS)
def test_the_model_writes(api, stream):
    """The request is one that the provider accepts, with a limit for the answer; what it wrote is the summary."""
    with Writer(PROSE) as provider:
        report = fitted(api, provider, history(), stream=stream).report

    assert report.stage == "model"
    assert "port 7411" in report.summary
    (body,) = provider.bodies[:1]
    assert body["model"] == "small"
    assert body.get("max_tokens", 0) > 2_000


@pytest.mark.slow
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("api", APIS)
def test_async_clients(api, stream):
    """An async client writes for the async methods."""

    async def view(provider):
        async with client(api, provider, is_async=True) as asked:
            summarizer = plimsoll.model_summarizer(f"{api}:small", client=asked, stream=stream)
            async with await plimsoll.aopen(
                store="memory:", max_tokens=1_500, summarizer=summarizer, policy="fill"
            ) as session:
                await session.aextend(history())
                await session.aview()
                return session.compactions()[-1]

    with Writer(PROSE) as provider:
        assert asyncio.run(view(provider)).stage == "model"


@pytest.mark.slow
@pytest.mark.parametrize("word", [429, 500, 529, "", "malformed", "cut", "I can't help with that.", "slow"])
@pytest.mark.parametrize("api", APIS)
def test_rules_write_when_it_fails(api, word):
    """Each failure is tried once more; then rules write, the view fits, and the note says why."""
    with Writer(word) as provider:
        made = fitted(api, provider, history(), timeout_s=0.3)

    assert made.report.stage == "rules"
    assert made.report.note
    assert made.report.tokens_after <= 1_500
    assert plimsoll.validate(made.messages) == []
    assert len(provider.bodies) >= 2 or word == "slow"


@pytest.mark.slow
@pytest.mark.parametrize("api", APIS)
def test_second_attempt(api):
    """A rate limit is no reason to give the model up."""
    with Writer(429, PROSE) as provider:
        assert fitted(api, provider, history()).report.stage == "model"


@pytest.mark.slow
@pytest.mark.parametrize("api", APIS)
def test_odd_text_is_sent(api):
    """Lone surrogates and NULs in the history do not keep the model from writing."""
    odd = [*history(30), {"role": "user", "content": "odd \ud800 \x00 text"}, *history(30)]
    with Writer(PROSE) as provider:
        assert fitted(api, provider, odd).report.stage == "model"


@pytest.mark.parametrize("model", ["gpt-4o", "", "openai:", "google:x", 3, None])
def test_unknown_models(model):
    """A name without a provider is refused."""
    with pytest.raises(SettingError):
        plimsoll.model_summarizer(model)


@pytest.mark.parametrize("options", [{"timeout_s": 0}, {"timeout_s": "x"}, {"stream": 1}, {"base_url": 5}])
def test_odd_options(options):
    """Each option is checked before an SDK is loaded."""
    with pytest.raises(SettingError):
        plimsoll.model_summarizer("openai:x", **options)


def test_base_url_belongs_to_the_client():
    """Both would contradict each other."""
    with pytest.raises(SettingError):
        plimsoll.model_summarizer("openai:x", client=object(), base_url="http://127.0.0.1")


@pytest.mark.parametrize("api", APIS)
def test_missing_sdk(api, monkeypatch):
    """The error names what to install."""
    for found in (None, ModuleType(api)):  # not there, and a release without the class
        monkeypatch.setitem(sys.modules, api, found)
        with pytest.raises(MissingExtra, match=rf"plimsoll-context\[{api}\]"):
            plimsoll.model_summarizer(f"{api}:x")


@pytest.mark.slow
def test_command_line(tmp_path, monkeypatch, capsys):
    """`plimsoll fit --summarizer` asks the model that it names."""
    from plimsoll.cli.main import main

    path = tmp_path / "talk.json"
    path.write_text(json.dumps(history()), encoding="utf-8")
    with Writer(PROSE) as provider:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url + "/v1")
        assert main(["fit", str(path), "--max-tokens", "1500", "--summarizer", "openai:small"]) == 0
        assert "port 7411" in capsys.readouterr().out
        assert main(["fit", str(path), "--max-tokens", "1500", "--summarizer", "small"]) == 1
        assert "plimsoll: --summarizer: must be openai:NAME" in capsys.readouterr().err
