"""What the proxy adds to a request: latency, requests per second, and memory, beside a bare pass-through on the same library.

    .env-bench/bin/python bench/proxy.py [--requests 200] [--streams 500] [--litellm PATH]     needs the extra proxy

LiteLLM's proxy is measured beside it if its command is found: `pip install 'litellm[proxy]'` in an environment of its own, and its path.

Every part is a process of its own on loopback: the upstream, which answers at once, what is measured, and this client. The added time is
what a request through a proxy takes longer than one straight to the upstream, measured alternately.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

MODEL = "gpt-4.1"
"""Its window of a million tokens leaves room for the request."""

REPLY = json.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": MODEL,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100_000, "completion_tokens": 2, "total_tokens": 100_002},
    }
).encode()
CHUNK = b'data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"word "}}]}\n\n'
END = b'data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
PATH = "/v1/chat/completions"


async def upstream(port: int) -> None:
    """A provider that answers at once, or streams 40 words in two seconds."""

    async def answer(request: web.Request) -> web.StreamResponse:
        body = await request.read()
        if b'"stream":true' not in body[-200:]:
            return web.Response(body=REPLY, content_type="application/json")
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for _ in range(40):
            await response.write(CHUNK)
            await asyncio.sleep(0.05)
        await response.write(END)
        return response

    app = web.Application(client_max_size=1 << 26)
    app.router.add_post(PATH, answer)
    await _serve(app, port)


async def bare(port: int, target: str) -> None:
    """A pass-through on aiohttp with nothing in it."""
    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), auto_decompress=False)

    async def answer(request: web.Request) -> web.StreamResponse:
        body = await request.read()
        async with session.post(
            target + request.path, data=body, headers={"Content-Type": "application/json"}
        ) as found:
            response = web.StreamResponse(status=found.status, headers={"Content-Type": found.headers["Content-Type"]})
            await response.prepare(request)
            async for data in found.content.iter_any():
                await response.write(data)
        return response

    app = web.Application(client_max_size=1 << 26)
    app.router.add_post(PATH, answer)
    await _serve(app, port)


async def _serve(app: web.Application, port: int) -> None:
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    await asyncio.Event().wait()


@contextmanager
def process(*words: str, port: int, patience_s: float = 60) -> Iterator[subprocess.Popen[bytes]]:
    """A process that listens on a port."""
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as started:
        try:
            for _ in range(int(patience_s / 0.1)):
                if started.poll() is not None:
                    raise RuntimeError(f"{words} ended with {started.returncode}")
                try:
                    asyncio.run(_connect(port))
                    break
                except OSError:
                    time.sleep(0.1)
            yield started
        finally:
            started.terminate()


async def _connect(port: int) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.close()


def body(turns: int = 200, *, stream: bool = False) -> dict[str, Any]:
    """A request of about 100,000 tokens: 400 messages of code-like words."""
    rng = random.Random(7)
    words = [("".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randrange(2, 9)))) for _ in range(2_000)]
    messages = [{"role": "system", "content": "Be brief."}]
    for number in range(turns):
        said = [f"{number} " + " ".join(rng.choices(words, k=170)) for _ in range(2)]
        messages += [{"role": "user", "content": said[0]}, {"role": "assistant", "content": said[1]}]
    messages.append({"role": "user", "content": "And now?"})
    return {"model": MODEL, "messages": messages, "stream": stream}


async def latencies(urls: dict[str, str], requests: int, *, grows: bool) -> dict[str, list[float]]:
    """Milliseconds of each request to each place, in turns."""
    found: dict[str, list[float]] = {name: [] for name in urls}
    order = random.Random(7)
    async with aiohttp.ClientSession() as session:
        for number in range(-5, requests):
            request = body()
            if grows:
                for at in range(number + 5):
                    request["messages"] += [
                        {"role": "assistant", "content": "Yes."},
                        {"role": "user", "content": f"more {at}"},
                    ]
            raw = json.dumps(request, separators=(",", ":")).encode()
            for name, url in order.sample(list(urls.items()), len(urls)):  # whoever is first finds cold caches
                began = time.perf_counter()
                async with session.post(url + PATH, data=raw, headers=HEADERS) as reply:
                    await reply.read()
                    assert reply.status == 200, (name, await reply.text())
                if number >= 0:
                    found[name].append((time.perf_counter() - began) * 1_000)
            await asyncio.sleep(0.05 if grows else 0)
    return found


HEADERS = {"Content-Type": "application/json", "Authorization": "Bearer sk-bench"}


async def rate(url: str, requests: int, at_a_time: int, raw: bytes) -> float:
    """Requests a second."""
    waiting = iter(range(requests))
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def work() -> None:
            for _ in waiting:
                async with session.post(url + PATH, data=raw, headers=HEADERS) as reply:
                    await reply.read()
                    assert reply.status == 200

        began = time.perf_counter()
        await asyncio.gather(*(work() for _ in range(at_a_time)))
        return requests / (time.perf_counter() - began)


async def streams(url: str, count: int) -> tuple[int, float]:
    """Streams at a time: how many broke, and the seconds until all had ended."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def one(number: int) -> bool:
            request = {"model": MODEL, "messages": [{"role": "user", "content": f"stream {number}"}], "stream": True}
            raw = json.dumps(request, separators=(",", ":")).encode()
            try:
                async with session.post(url + PATH, data=raw, headers=HEADERS) as reply:
                    return (await reply.read()).endswith(END)
            except aiohttp.ClientError:
                return False

        began = time.perf_counter()
        ended = await asyncio.gather(*map(one, range(count)))
        return ended.count(False), time.perf_counter() - began


def used_s(process_id: int) -> float:
    """Seconds of processor time that a process and its children have used."""
    found = 0.0
    for task in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = task.read_text(encoding="utf-8")
        except OSError:
            continue
        fields = text.rpartition(")")[2].split()
        if process_id in (int(text.partition(" ")[0]), int(fields[1])):
            found += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return found


def resident_mb(process_id: int) -> float:
    """Megabytes of memory."""
    text = Path(f"/proc/{process_id}/status").read_text(encoding="ascii")
    return int(text.partition("VmRSS:")[2].split()[0]) / 1024


def line(name: str, values: list[float], base: list[float]) -> str:
    """What a place adds."""
    added = sorted(value - other for value, other in zip(values, base, strict=True))
    p95 = added[int(len(added) * 0.95)]
    return f"{name:10} added p50 {statistics.median(added):6.2f} ms   p95 {p95:6.2f} ms"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument("--litellm", default=shutil.which("litellm"))
    parser.add_argument("--part", nargs="+")
    arguments = parser.parse_args()
    if arguments.part:
        kind, port, *rest = arguments.part
        asyncio.run(upstream(int(port)) if kind == "upstream" else bare(int(port), *rest))
        return
    up, ours, plain, lite = 9871, 9872, 9873, 9874
    target = f"http://127.0.0.1:{up}"
    me = (sys.executable, __file__, "--part")
    with tempfile.TemporaryDirectory() as home, ExitStack() as stack:
        stack.enter_context(process(*me, "upstream", str(up), port=up))
        running = {"bare": stack.enter_context(process(*me, "bare", str(plain), target, port=plain))}
        words = (sys.executable, "-m", "plimsoll", "serve", "--upstream", target, "--port", str(ours), "--store", home)
        proxy = running["plimsoll"] = stack.enter_context(process(*words, port=ours))
        urls = {"direct": target, "bare": f"http://127.0.0.1:{plain}", "plimsoll": f"http://127.0.0.1:{ours}"}
        if arguments.litellm:
            config = Path(home, "litellm.yaml")
            config.write_text(
                f"model_list: [{{model_name: {MODEL}, litellm_params: {{model: openai/{MODEL}, api_base: {target}/v1, api_key: x}}}}]\n"
            )
            os.environ |= {"LITELLM_LOG": "ERROR", "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true"}
            command = (arguments.litellm, "--config", str(config), "--port", str(lite), "--host", "127.0.0.1")
            running["litellm"] = stack.enter_context(process(*command, port=lite, patience_s=120))
            urls["litellm"] = f"http://127.0.0.1:{lite}"
        raw = json.dumps(body(), separators=(",", ":")).encode()
        print(f"a request of {len(raw):,} bytes, {arguments.requests} times")
        for title, grows in (("the same request again", False), ("a conversation that grows by a message", True)):
            found = asyncio.run(latencies(urls, arguments.requests, grows=grows))
            print(f"{title}: direct p50 {statistics.median(found['direct']):.2f} ms")
            for name in list(urls)[1:]:
                print("  " + line(name, found[name], found["direct"]))
        small = json.dumps({"model": MODEL, "messages": [{"role": "user", "content": "Why?"}]}).encode()
        for name in list(urls)[1:]:
            few = 200 if name == "litellm" else 2_000
            rates = []
            for times, data in ((few, small), (few // 4, raw)):
                began_s = used_s(running[name].pid)
                each = asyncio.run(rate(urls[name], times, 20, data))
                rates.append((each, times / (used_s(running[name].pid) - began_s)))
            told = "; ".join(f"{each:5.0f} a second, {core:5.0f} a second of a core" for each, core in rates)
            print(f"{name:10} small requests, then of {len(raw):,} bytes: {told}")
        broken, taken_s = asyncio.run(streams(urls["plimsoll"], arguments.streams))
        print(f"{arguments.streams} streams at a time: {broken} broke, all ended after {taken_s:.1f} s")
        sizes = [resident_mb(proxy.pid)]
        for _ in range(5):
            asyncio.run(rate(urls["plimsoll"], 2_000, 20, small))
            sizes.append(resident_mb(proxy.pid))
        print("memory after each further 2,000 requests: " + ", ".join(f"{size:.0f}" for size in sizes) + " MB")


if __name__ == "__main__":
    main()
