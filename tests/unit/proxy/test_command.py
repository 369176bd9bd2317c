"""The command, and a proxy whose own parts fail."""

from __future__ import annotations

import json
import sys

import pytest

import plimsoll
from plimsoll.cli.main import main
from plimsoll.conversations.conversations import Conversations
from plimsoll.errors import SettingError
from plimsoll.mcp.http import checked_token
from plimsoll.proxy.flow import Asked, Flow
from plimsoll.proxy.options import checked_options

RAW = json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": "Why?"}]}).encode()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--upstream", "ftp://provider"], "must be a URL"),
        (["--upstream", "https://provider", "--host", "0.0.0.0"], "token"),
        (["--upstream", "https://provider", "--policy", "no-such"], "policy"),
        (["--upstream", "https://provider", "--token-file", "/no/such"], "/no/such"),
        (["--upstream", "https://provider", "--token-file", ""], "directory"),
    ],
)
def test_unsafe_or_wrong_options_are_refused(words, told, capsys, tmp_path, monkeypatch):
    """With one line, before anything listens."""
    monkeypatch.setenv("PLIMSOLL_HOME", str(tmp_path))
    assert main(["serve", *words]) == 1
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("given", ["", " \t"])
@pytest.mark.parametrize("place", ["option", "file", "variable", "library", "mcp"])
def test_an_empty_token_is_refused_everywhere(place, given, capsys, tmp_path, monkeypatch):
    """What a variable that was never set leaves is no wish to serve without a token, on loopback either."""
    served = []
    monkeypatch.setattr("plimsoll.proxy.run.serve", lambda options, **_: served.append(options))
    file = tmp_path / "token"
    file.write_text(given)
    words = {"option": ["--token", given], "file": ["--token-file", str(file)]}.get(place, [])
    if place == "variable":
        monkeypatch.setenv("PLIMSOLL_PROXY_TOKEN", given)
    if place == "library":
        with pytest.raises(SettingError, match=r"token.*is empty"):
            checked_options("https://provider", token=given)
    elif place == "mcp":
        with pytest.raises(SettingError, match=r"token.*is empty"):
            checked_token(given)
    else:
        assert main(["serve", "--upstream", "https://provider", *words]) == 1
        assert "token" in (told := capsys.readouterr().err)
        assert "is empty" in told
    assert served == []


def test_the_token_may_be_in_a_file(capsys, tmp_path, monkeypatch):
    """Its first line; not beside another token, and not in what is printed."""
    served = []
    monkeypatch.setattr("plimsoll.proxy.run.serve", lambda options, **_: served.append(options))
    file = tmp_path / "token"
    words = ["serve", "--upstream", "https://provider", "--host", "0.0.0.0", "--token-file", str(file)]
    file.write_text("a-token-of-the-tests-42\nnot this\n")
    assert main(words) == 0
    assert served[0].token == "a-token-of-the-tests-42"
    assert main([*words, "--token", "another-token-of-the-tests"]) == 2
    file.write_bytes(b"\xef\xbb\xbfa-token-of-the-tests-42\r\n")
    assert main(words) == 0
    assert served[1].token == "a-token-of-the-tests-42"
    for wrong in ("\n", "", "of-the-tests" * 400):
        file.write_text(wrong)
        assert main(words) == 1
    told = capsys.readouterr()
    assert "no token in its first line" in told.err
    assert "of-the-tests" not in told.err + told.out


@pytest.mark.parametrize(
    ("words", "option", "value"),
    [
        (["--recall-tools"], "recall_tools", True),
        (["--no-redact"], "redact", False),
        (["--max-tokens", "9k"], "max_tokens", 9_000),
        (["--policy", "ladder"], "policy", "ladder"),
        (["--model", "gpt-4.1"], "model", "gpt-4.1"),
    ],
)
def test_options_of_conversations(words, option, value, monkeypatch):
    """They are handed on, and are others without the option."""
    given = []
    monkeypatch.setattr("plimsoll.proxy.run.serve", lambda _, **kept: given.append(kept[option]))
    assert main(["serve", "--upstream", "https://provider", *words]) == 0
    assert main(["serve", "--upstream", "https://provider"]) == 0
    assert given[0] == value != given[1]


def test_what_is_printed_first(capsys, tmp_path, monkeypatch):
    """The base URL for each kind of client, and where to look."""
    monkeypatch.setattr("plimsoll.proxy.run.serve", lambda _, listening, **__: listening("http://127.0.0.1:8790"))
    assert main(["serve", "--upstream", "https://api.openai.com", "--store", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "http://127.0.0.1:8790/v1" in told
    assert "http://127.0.0.1:8790/plimsoll/status" in told


def test_without_the_extra_it_is_named(capsys, monkeypatch):
    """Not a traceback."""
    for name in [name for name in sys.modules if name.startswith("plimsoll.proxy.")]:
        package, _, own = name.rpartition(".")
        monkeypatch.setattr(sys.modules[package], own, sys.modules[name])  # an import anew replaces it
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    assert main(["serve", "--upstream", "https://provider"]) == 1
    assert "plimsoll-context[proxy]" in capsys.readouterr().err


@pytest.mark.parametrize("broken", ["free_tokens", "prepare"])
def test_a_fault_of_ours_stops_no_request(broken, monkeypatch):
    """The body goes out as it came, and the fault is told by its kind alone."""

    def fail(*_, **__):
        raise ZeroDivisionError("with a sk-canary in it")

    with Conversations("memory:") as kept:
        monkeypatch.setattr(kept, broken, fail)
        exchange = Flow(kept).exchange(Asked(path="/v1/chat/completions", format="openai-chat", raw=RAW, text=RAW))
        body = exchange.prepare() if exchange.ready is None else exchange.ready
        exchange.note()
        exchange.finish(None)
        assert body is RAW
        assert broken == "free_tokens" or "ZeroDivisionError" in exchange.problem
        assert "canary" not in str(exchange.problem)


@pytest.mark.parametrize("store", ["/proc/plimsoll", "sqlite:////proc/plimsoll/s.db", "{file}/store"])
def test_a_store_that_cannot_be_written_is_told_before_anything_listens(store, capsys, tmp_path, monkeypatch):
    """One line and a status of failure: a proxy that would keep nothing must not look as if it did."""
    monkeypatch.setattr("plimsoll.proxy.run.asyncio.run", lambda serving: pytest.fail(f"it serves: {serving.close()}"))
    (tmp_path / "file").write_text("no folder")

    assert main(["serve", "--upstream", "https://provider", "--store", store.format(file=tmp_path / "file")]) == 1
    told = capsys.readouterr()
    assert told.err.count("\n") == 1
    assert told.err.startswith("plimsoll: cannot use /")
    assert told.out == ""


@pytest.mark.parametrize("store", ["{folder}", "sqlite:///{folder}/s.db", "memory:"])
def test_the_check_of_a_store_leaves_no_session(store, tmp_path, monkeypatch):
    """Neither listed nor archived."""
    place = store.format(folder=tmp_path)
    served = []
    monkeypatch.setattr("plimsoll.proxy.run.asyncio.run", lambda serving: served.append(serving.close()))

    assert main(["serve", "--upstream", "https://provider", "--store", place]) == 0
    assert served == [None]
    assert plimsoll.sessions(place) == plimsoll.sessions(place, archived=True) == []
