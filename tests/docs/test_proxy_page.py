"""The first lines of docs/proxy.md do what they say, with another upstream and another port."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import openai
import pytest

from loopback.server import Provider

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "proxy.md").read_text(encoding="utf-8")


def block(language: str) -> list[str]:
    """The lines of the page's first block of a language."""
    found = re.search(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert found
    return found[1].splitlines()


def test_it_takes_at_most_ten_lines() -> None:
    """Before it works."""
    assert len(block("sh")) + len(block("py")) <= 10


@pytest.mark.slow
def test_the_first_lines_work(tmp_path: Path) -> None:
    """The command serves, the client's line reaches it, and it ends when it is told to."""
    with Provider(128_000) as provider:
        words = block("sh")[-1].replace("https://api.openai.com", provider.url).split()
        command = [sys.executable, "-m", *words, "--port", "0", "--json"]
        environment = {**os.environ, "PLIMSOLL_HOME": str(tmp_path)}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
            try:
                assert process.stdout is not None
                url = json.loads(_object(process.stdout))["listening"]
                line = (
                    block("py")[0].replace("http://127.0.0.1:8790", url).replace("OpenAI(", 'OpenAI(api_key="none", ')
                )
                client = eval(line.partition("= ")[2], {"OpenAI": openai.OpenAI})
                with client:
                    messages = [{"role": "user", "content": "Why?"}]
                    reply = client.chat.completions.create(model="gpt-4o", messages=messages)
                assert reply.choices
                deadline = time.monotonic() + 60
                while _conversations(url) != 1 and time.monotonic() < deadline:  # recorded after the reply has gone out
                    time.sleep(0.05)
                found = _conversations(url)
                process.terminate()
                assert process.wait(60) == 0
            finally:
                process.kill()
        assert found == 1
    assert len(list((tmp_path / "sessions").glob("c-*"))) == 1


def _conversations(url: str) -> int:
    """The number of conversations that the proxy's status names."""
    with urllib.request.urlopen(f"{url}/plimsoll/status") as page:
        found: int = json.load(page)["conversations"]
    return found


def _object(stream: object) -> str:
    """The lines of a JSON object."""
    text = ""
    for line in stream:  # type: ignore[attr-defined]
        text += line
        if line.startswith("}") or line.rstrip().endswith("}"):
            return text
    return text
