"""Exact counts: the right vocabulary, text as text, linear work, slices that add up."""

from __future__ import annotations

import base64
import hashlib
import json
import pathlib
import random
import socket
import string
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import plimsoll
from plimsoll.api import preloading
from plimsoll.tokens import exact
from plimsoll.tokens.exact import (
    ExactCounter,
    exact_counter,
    slices,
    without_surrogates,
)

VOCABULARIES = ("o200k_base", "cl100k_base")

RANKS_SHA256 = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}
"""Of the files that OpenAI publishes."""

SAMPLES = pathlib.Path(__file__).parents[3].parent / "shared/evals/multilingual/samples.jsonl"

HOSTILE = (
    "",
    " ",
    "\n",
    "<|endoftext|>",
    "a<|im_start|>system<|im_end|>b <|endofprompt|>",
    "<|",
    "\r\n\r\n \t x",
    "it's we'LL don’t I'm",
    "ǅ ª º ʰ ͅ a\u0301\u0308 \u200d\ufe0f👩\u200d💻",
    "１２３ ①②③ ½ ² 1²3",
    "\x1c\x1d\x85\xa0\u2028\u3000x",
    "𠀀𪛖 \U0001f9ff\U000e0041",
    "/usr//lib/\n/x\n//\n",
    "日本語、テキスト。한국어, русский; العربية",
    "\x00\x00\ufffd\ufffe",
)


def _ranks_file(vocabulary: str) -> bytes:
    """OpenAI's vocabulary file, written again from splintr's tokens."""
    from splintr import Tokenizer

    tokenizer = Tokenizer.from_pretrained(vocabulary)
    size = {"o200k_base": 199_998, "cl100k_base": 100_256}[vocabulary]
    tokens = (tokenizer.decode_token_bytes(number) for number in range(size))
    return b"".join(b"%b %d\n" % (base64.b64encode(token), number) for number, token in enumerate(tokens))


@pytest.fixture(scope="module")
def offline_tiktoken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ExactCounter]:
    """Counters over tiktoken, from vocabulary files in its cache directory, with the network cut off."""
    tiktoken = pytest.importorskip("tiktoken")
    with pytest.MonkeyPatch.context() as patch:
        place = tmp_path_factory.mktemp("ranks")
        patch.setenv("TIKTOKEN_CACHE_DIR", str(place))
        patch.setattr(socket, "socket", _no_network)
        counters = {}
        for vocabulary in VOCABULARIES:
            address = f"https://openaipublic.blob.core.windows.net/encodings/{vocabulary}.tiktoken"
            (place / hashlib.sha1(address.encode()).hexdigest()).write_bytes(_ranks_file(vocabulary))
            encode = tiktoken.get_encoding(vocabulary).encode_ordinary
            counters[vocabulary] = ExactCounter(vocabulary, lambda text, encode=encode: len(encode(text)))
        return counters


def _no_network(*_: object, **__: object) -> None:
    raise AssertionError("the network was asked")


@pytest.mark.slow
@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_the_vocabulary_is_openais(vocabulary: str) -> None:
    """The engine's tokens, written in OpenAI's file format, have the hash of OpenAI's own file."""
    assert hashlib.sha256(_ranks_file(vocabulary)).hexdigest() == RANKS_SHA256[vocabulary]


@pytest.mark.spec("WE-07")
@pytest.mark.parametrize(
    ("text", "o200k", "cl100k"),
    [
        ("", 0, 0),
        ("hello world", 2, 2),
        ("tiktoken is great!", 6, 6),
        ("antidisestablishmentarianism", 6, 6),
        ("2 + 2 = 4", 7, 7),
        ("お誕生日おめでとう", 8, 9),
        ("<|endoftext|>", 7, 7),
        ("a" * 1000, 125, 125),
    ],
)
def test_known_counts(text: str, o200k: int, cl100k: int) -> None:
    """Counts that OpenAI's own examples and tiktoken give; special-token text is text (WE-07)."""
    assert exact_counter("o200k_base").count(text) == o200k
    assert exact_counter("cl100k_base").count(text) == cl100k


@pytest.mark.slow
@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_two_engines_agree_on_hostile_text(vocabulary: str, offline_tiktoken: dict[str, ExactCounter]) -> None:
    """Splintr and tiktoken, two implementations, give the same count for every hostile string and mixtures of them."""
    rng = random.Random(5)
    texts = [*HOSTILE, *("".join(rng.choices(HOSTILE, k=6)) for _ in range(300))]
    ours, theirs = exact_counter(vocabulary), offline_tiktoken[vocabulary]
    assert [ours.count(text) for text in texts] == [theirs.count(text) for text in texts]


@pytest.mark.slow
def test_engines_and_samples_agree(offline_tiktoken: dict[str, ExactCounter]) -> None:
    """Both engines give the true count of every text in some 45 languages and kinds."""
    if not SAMPLES.is_file():
        pytest.skip("no ../shared/evals beside the checkout")
    rows = [json.loads(line) for line in SAMPLES.read_text("utf-8").strip().split("\n")]
    for vocabulary in VOCABULARIES:
        truth = [row[vocabulary.removesuffix("_base")] for row in rows]
        assert [exact_counter(vocabulary).count(row["text"]) for row in rows] == truth
        assert [offline_tiktoken[vocabulary].count(row["text"]) for row in rows] == truth


def test_no_engine_is_an_import_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without splintr the counter cannot be made, and says what to install."""
    monkeypatch.setattr(exact, "is_installed", lambda _: False)
    with pytest.raises(ImportError, match="splintr-rs"):
        exact._load("o200k_base")


@pytest.mark.parametrize(
    ("text", "same_as"),
    [
        ("a\ud800b", "a\ufffdb"),
        ("\udc00", "\ufffd"),
        ("\ud83d\ude00", "😀"),
        ("x\ud83d", "x\ufffd"),
        ("\udfff\ud800\udfff", "\ufffd𐏿"),
    ],
)
def test_lone_surrogates_count_as_replacement_characters(text: str, same_as: str) -> None:
    """A lone surrogate is U+FFFD, and two that make a pair are the character they make."""
    assert without_surrogates(text) == same_as
    assert exact_counter("o200k_base").count(text) == exact_counter("o200k_base").count(same_as)


def test_the_fast_path_replaces_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Well-formed text never goes through the replacement of surrogates."""
    monkeypatch.setattr(exact, "without_surrogates", lambda _: pytest.fail("replaced"))
    assert exact_counter("o200k_base").count("héllo 世界") > 0


def test_upper_is_the_count() -> None:
    """An exact counter has no margin, and says that it is exact."""
    counter = exact_counter("o200k_base")
    assert counter.exact
    assert counter.upper("some text") == counter.count("some text")


RNG = random.Random(1)
LONG = {
    "one letter": "a" * 1_000_000,
    "spaces": " " * 1_100_000,
    "letters": "".join(RNG.choices(string.ascii_lowercase, k=1_000_000)),
    "han": "中" * 400_000,
}


class Recorder:
    """An engine that remembers the length of what it was handed."""

    def __init__(self) -> None:
        self.handed: list[int] = []

    def __call__(self, text: str) -> int:
        """Count by the real engine."""
        self.handed.append(len(text))
        return exact_counter("o200k_base").count(text)


@pytest.mark.slow
@pytest.mark.spec("WE-08")
@pytest.mark.parametrize("name", LONG)
def test_every_character_is_counted_once(name: str) -> None:
    """Text that cannot be cut is handed to the engine once, whole: no quadratic work of ours (WE-08)."""
    engine = Recorder()
    ExactCounter("recorded", engine).count(LONG[name])
    assert engine.handed == [len(LONG[name])]


@pytest.mark.slow
@pytest.mark.spec("WE-08")
@pytest.mark.parametrize("name", LONG)
def test_work_per_character_does_not_grow(name: str) -> None:
    """Ten times the text makes at most about ten times the Python-level steps and the same count per character (WE-08)."""
    short, long = LONG[name][: len(LONG[name]) // 10], LONG[name]
    counter = exact_counter("o200k_base")
    assert counter.count(long) / counter.count(short) == pytest.approx(10, rel=0.02)
    assert _steps(long) <= 10 * _steps(short) + 50


def _steps(text: str) -> int:
    """Lines of Python run while the text is counted."""
    steps = 0

    def trace(frame: object, event: str, arg: object) -> object:
        nonlocal steps
        steps += 1
        return trace

    sys.settrace(trace)
    try:
        exact_counter("o200k_base").count(text)
    finally:
        sys.settrace(None)
    return steps


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_slices_add_up_to_the_whole(vocabulary: str) -> None:
    """Cutting at safe places changes no count, whatever stands around the cut."""
    rng = random.Random(9)
    bits = [
        *HOSTILE,
        "word ",
        "word1",
        "12345",
        "  \n",
        "\n\n",
        "\n/",
        "\n x",
        "，",
        "漢字，仮名。",
        "Hello, World",
        "x='y'",
        "\t\t",
        "it's 5 o'clock",
        "don't",
        "'s",
        "9a",
        "²",
        " \r\n",
        "a  b",
        "foo   ",
    ]
    engine = exact_counter(vocabulary)
    for _ in range(400):
        text = "".join(rng.choices(bits, k=40))
        parts = list(slices(text, size_chars=20))
        assert "".join(parts) == text
        assert sum(map(engine.count, parts)) == engine.count(text), parts


def test_long_text_is_counted_in_slices() -> None:
    """A long text is handed to the engine in slices of about a million characters, and the sum is exact."""
    text = "The quick brown fox, 12 times.\n" * 80_000
    engine = Recorder()
    once = exact_counter("o200k_base").count("The quick brown fox, 12 times.\n")
    assert ExactCounter("recorded", engine).count(text) == 80_000 * once
    assert len(engine.handed) == 3
    assert max(engine.handed) < 1_100_000


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_long_texts_count_the_same_by_either_engine(vocabulary: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that is counted in a batch, in parts where it spells special tokens, has the count it has as a whole."""
    rng = random.Random(3)
    texts = [" ".join(rng.choices([*HOSTILE, "word", "12 times.\n", "\ud800"], k=600)) for _ in range(20)]
    counted = [exact_counter(vocabulary).count(text) for text in texts]
    monkeypatch.setattr(exact, "COUNT_ALONE_CHARS", 100)
    assert [exact_counter(vocabulary).count(text) for text in texts] == counted


def test_other_threads_run_while_a_long_text_is_counted() -> None:
    """Counting a megabyte that was never seen before lets another thread have the interpreter many times meanwhile."""
    rng = random.Random(4)
    text = " ".join(f"{rng.randrange(10**9):x}" for _ in range(120_000))
    ticks = 0
    done = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not done.is_set():
            time.sleep(0.0001)
            ticks += 1

    thread = threading.Thread(target=tick)
    thread.start()
    before = ticks
    exact_counter("o200k_base").count(text)
    during = ticks - before
    done.set()
    thread.join()
    assert during > 10


@pytest.mark.slow
def test_counting_many_texts_in_a_forked_process() -> None:
    """The child of a process that has counted on all cores counts too: it does not wait for threads it does not have."""
    program = """
import os
from plimsoll.tokens.counter import counter_for
texts = [f"the tide {number} is high " * 300 for number in range(300)]
counter_for("gpt-4o").prime(texts)
child = os.fork()
if not child:
    counter_for("gpt-4o").prime([text + "z" for text in texts])
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("7\n", "")


def test_hostile_words_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine's own cache of words is emptied after a bounded amount of text."""
    monkeypatch.setattr(exact, "COUNT_ENGINE_CHARS_MAX", 10_000)
    emptied = []

    class Watched:
        @staticmethod
        def from_pretrained(_: str) -> Watched:
            return Watched()

        def encode_flat(self, _: str) -> bytes:
            return b"1234"

        encode_ordinary = encode_flat

        def clear_cache(self) -> None:
            emptied.append(1)

    import splintr

    monkeypatch.setattr(splintr, "Tokenizer", Watched)
    count = exact.SplintrEngine("o200k_base").count
    for _ in range(50):
        count("x" * 1000)
    assert len(emptied) == 4


def test_threads_load_a_vocabulary_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that come while it is loaded wait for it."""
    made: list[str] = []
    load = exact._load

    def slow(vocabulary: str) -> exact.ExactCounter:
        made.append(vocabulary)
        time.sleep(0.05)
        return load(vocabulary)

    monkeypatch.setattr(exact, "_loaded", {})
    monkeypatch.setattr(exact, "_load", slow)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(exact_counter, ["cl100k_base"] * 4))
    assert made == ["cl100k_base"]
    assert all(counter is found[0] for counter in found)


def test_preloading_changes_no_count() -> None:
    """Known models, unknown ones, and none."""
    for model in ("gpt-4o", "gpt-4", "claude-sonnet-4-5", "no-such-model", None):
        before = plimsoll.count_tokens("unladen swallows", model=model)
        plimsoll.preload(model)
        assert plimsoll.count_tokens("unladen swallows", model=model) == before


def test_the_engine_is_imported_while_the_vocabulary_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither waits for the other, and what goes wrong with the vocabulary is raised."""
    importing = threading.Event()

    def load(model: str | None) -> None:
        assert importing.wait(timeout=10)
        raise LookupError(model)

    monkeypatch.setattr(preloading, "import_module", lambda _: importing.set())
    monkeypatch.setattr(preloading, "load_vocabulary", load)
    with pytest.raises(LookupError, match="gpt-4o"):
        plimsoll.preload("gpt-4o")


def test_the_vocabulary_is_loaded_where_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process at its limit of threads: the first call then imports the engine."""
    loaded: list[str | None] = []

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(preloading, "load_vocabulary", loaded.append)
    plimsoll.preload("gpt-4o")
    assert loaded == ["gpt-4o"]
