"""The estimator: how far off, how safe, how even."""

from __future__ import annotations

import base64
import json
import pathlib
import random
import statistics
import sys
import sysconfig
import unicodedata
import uuid
from typing import Self

import pytest

from plimsoll.tokens.estimate import UNITS, EstimatingCounter, weights
from plimsoll.tokens.exact import exact_counter

VOCABULARIES = ("o200k_base", "cl100k_base")

SAMPLES = pathlib.Path(__file__).parents[3].parent / "shared/evals/multilingual/samples.jsonl"


def _slices(text: str, rng: random.Random, count: int) -> list[str]:
    sizes = [round(80 * 75 ** rng.random()) for _ in range(count)]
    return [text[(at := rng.randrange(max(1, len(text) - size))) : at + size] for size in sizes]


def _material() -> dict[str, str]:
    """Text that is on every machine or made here."""
    rng = random.Random(17)
    library = pathlib.Path(sysconfig.get_path("stdlib"))
    records = [
        {
            "id": str(uuid.UUID(int=rng.getrandbits(128))),
            "n": rng.randint(0, 10**6),
            "ok": rng.random() < 0.5,
            "name": "worker queue",
            "tags": ["a", "beta"],
        }
        for _ in range(200)
    ]
    return {
        "code": "\n".join((library / name).read_text("utf-8") for name in ("argparse.py", "ast.py", "typing.py")),
        "json": json.dumps(records, indent=2),
        "compact json": json.dumps(records, separators=(",", ":")),
        "uuids": "\n".join(str(uuid.UUID(int=rng.getrandbits(128))) for _ in range(300)),
        "hashes": "\n".join(rng.randbytes(32).hex() for _ in range(200)),
        "base64": base64.encodebytes(rng.randbytes(12_000)).decode(),
        "digits": " ".join(str(rng.randint(0, 10**9)) for _ in range(1500)),
        "log": "\n".join(f"2026-03-{rng.randint(1, 28):02}T12:{rng.randint(0, 59):02}:{rng.randint(0, 59):02}.123Z INFO [pool-{rng.randint(1, 9)}] request {rng.getrandbits(32):08x} took {rng.randint(1, 999)} ms" for _ in range(300)),
        "russian": "Съешь же ещё этих мягких французских булок, да выпей чаю. Сегодня хорошая погода. " * 40,
        "chinese": "今天天气很好，我们一起去公园散步吧。这个函数的作用是计算文本的长度。" * 60,
        "emoji": "Done 🎉 all tests pass ✅ but one ❌ failed 🤔\n" * 60,
    }  # fmt: skip


MATERIAL = _material()


@pytest.mark.slow
@pytest.mark.spec("WE-01")
@pytest.mark.parametrize("vocabulary", VOCABULARIES)
@pytest.mark.parametrize("kind", MATERIAL)
def test_each_kind_is_close_and_safe(kind: str, vocabulary: str) -> None:
    """Within 15 % on average for what the seeds count two to four times too low, and `upper` at most 12 % low (WE-01)."""
    truth, guess = exact_counter(vocabulary), EstimatingCounter(vocabulary)
    pairs = [
        (guess.count(text), guess.upper(text), truth.count(text))
        for text in _slices(MATERIAL[kind], random.Random(kind), 60)
    ]
    pairs = [pair for pair in pairs if pair[2] >= 100]
    assert statistics.fmean(abs(count / true - 1) for count, _, true in pairs) < 0.15
    assert min(upper / true for _, upper, true in pairs) > 0.88


@pytest.mark.slow
@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_samples_are_within_eight_percent(vocabulary: str) -> None:
    """Over texts in some 45 languages and kinds, none fitted on, the mean error is below 5 % and `upper` is low for none."""
    if not SAMPLES.is_file():
        pytest.skip("no ../shared/evals beside the checkout")
    rows = [json.loads(line) for line in SAMPLES.read_text("utf-8").strip().split("\n")]
    guess = EstimatingCounter(vocabulary)
    truth = [row[vocabulary.removesuffix("_base")] for row in rows]
    errors = [guess.count(row["text"]) / true - 1 for row, true in zip(rows, truth, strict=True)]
    assert statistics.fmean(map(abs, errors)) < 0.05
    assert max(map(abs, errors)) < 0.20
    assert all(guess.upper(row["text"]) >= true for row, true in zip(rows, truth, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_slices_of_samples_are_safe(vocabulary: str) -> None:
    """`upper` is low for fewer than 1 in 100 slices of 80 to 6,000 characters, and never by more than 12 %."""
    if not SAMPLES.is_file():
        pytest.skip("no ../shared/evals beside the checkout")
    rng = random.Random(23)
    texts = [json.loads(line)["text"] for line in SAMPLES.read_text("utf-8").strip().split("\n")]
    truth, guess = exact_counter(vocabulary), EstimatingCounter(vocabulary)
    slices = [piece for text in texts for piece in _slices(text, rng, 20) if truth.count(piece) >= 100]
    ratios = [guess.upper(piece) / truth.count(piece) for piece in slices]
    assert sum(ratio < 1 for ratio in ratios) < len(ratios) / 100
    assert min(ratios) > 0.88


RUNS = [
    "\n",
    " ",
    "\t",
    "\r\n",
    "-",
    "=",
    "a",
    "w",
    "{",
    "0",
    "─",
    "═",
    "│",
    "░",
    "┌",
    "┄",
    "…",
    "・",
    "。",
    "ก",
    "ม",
    "あ",
    "가",
    "哈",
    "а",
    "ש",
    "😀",
    "\x00",
]
"""Characters that come in runs, and some that hardly do."""


@pytest.mark.slow
@pytest.mark.spec("S2-07", "WE-01")
@pytest.mark.parametrize("vocabulary", VOCABULARIES)
@pytest.mark.parametrize("unit", RUNS)
def test_runs_are_never_counted_too_low(unit: str, vocabulary: str) -> None:
    """From ten on, however often one character is repeated, `upper` is not below the truth."""
    truth, guess = exact_counter(vocabulary), EstimatingCounter(vocabulary)
    for size in (10, 30, 100, 288, 1_000, 70_000):
        assert guess.upper(unit * size) >= truth.count(unit * size), size


@pytest.mark.slow
@pytest.mark.spec("S2-07", "WE-01")
@pytest.mark.parametrize("vocabulary", VOCABULARIES)
@pytest.mark.parametrize(
    "unit",
    [
        "┌──┬──┐\n│  │  │\n└──┴──┘\n",
        "สวัสดีครับ ยินดีต้อนรับ ",
        "ขอบคุณมาก",
        "| --- | --- |\n",
        "0, ",
        "null, ",
        '{"id": 0, "ok": true}, ',
        "Съешь же ещё этих булок. ",
        "今天天气很好。",
        "こんにちは世界",
        "안녕하세요 세계 ",
        "שלום עולם ",
        "नमस्ते दुनिया ",
        "no errors found\n",
        "</div></div>",
        "🎉✅❌",
    ],
)
def test_repeated_phrases_are_never_counted_too_low(unit: str, vocabulary: str) -> None:
    """A phrase repeated twenty or a thousand times costs no more than `upper` says, and not much less than that."""
    truth, guess = exact_counter(vocabulary), EstimatingCounter(vocabulary)
    for size in (20, 1_000):
        true = truth.count(unit * size)
        assert true <= guess.upper(unit * size) <= max(8 * true, 40)


@pytest.mark.slow
@pytest.mark.spec("S2-07", "WE-01")
@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_repeated_slices_of_samples_are_safe(vocabulary: str) -> None:
    """Words and sentences of the samples, each repeated sixty times, are counted too low in fewer than 3 of 100 cases."""
    if not SAMPLES.is_file():
        pytest.skip("no ../shared/evals beside the checkout")
    rng = random.Random(29)
    texts = [json.loads(line)["text"] for line in SAMPLES.read_text("utf-8").strip().split("\n")]
    truth, guess = exact_counter(vocabulary), EstimatingCounter(vocabulary)
    ratios = []
    for text in texts:
        for size in (1, 3, 8, 12, 25, 50, 100):
            at = rng.randrange(max(1, len(text) - size))
            repeated = (text[at : at + size].strip() or "x") * 60
            ratios.append(guess.upper(repeated) / truth.count(repeated))
    assert sum(ratio < 1 for ratio in ratios) < 0.03 * len(ratios)
    assert min(ratios) > 0.6


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
@pytest.mark.parametrize(
    ("first", "size", "most"),
    [
        (0x00C0, 64, 1.1),  # Latin letters with marks
        (0x0100, 128, 1.1),
        (0x1EA0, 96, 1.1),
        (0x0430, 32, 3.0),
        (0x0E01, 46, 3.0),
        (0x09A0, 16, 3.0),
        (0x10E0, 16, 3.0),
        (0x2510, 16, 3.0),
        (0x2700, 128, 3.0),
        (0x1F080, 16, 3.0),
    ],
)
def test_text_of_no_language_is_within_the_documented_factor(
    first: int, size: int, most: float, vocabulary: str
) -> None:
    """Random letters of one block, in one run or as words, are at most so many times above `upper`."""
    chance = random.Random(first)
    letters = [chr(code) for code in range(first, first + size) if unicodedata.category(chr(code)) != "Cn"]
    guess, truth = EstimatingCounter(vocabulary), exact_counter(vocabulary)
    for width in (5, 1_000):
        text = " ".join("".join(chance.choices(letters, k=width)) for _ in range(1_000 // width))

        assert truth.count(text) <= most * guess.upper(text)


@pytest.mark.spec("S2-07")
def test_ordinary_text_keeps_its_margin() -> None:
    """What allows for repetitions costs ordinary text next to nothing."""
    counter = EstimatingCounter()
    for kind in ("code", "chinese sentence", "log", "uuids"):
        text = (
            "".join(chr(0x4E00 + (n * n * 7919) % 3000) for n in range(3_000))
            if kind == "chinese sentence"
            else MATERIAL[kind]
        )
        assert counter.upper(text) <= 1.06 * counter.count(text) * weights("o200k_base").margin


@pytest.mark.spec("WE-04")
@pytest.mark.parametrize(
    ("script", "sample"),
    [
        ("Georgian", "გამარჯობა მსოფლიო"),
        ("Armenian", "Բարեւ աշխարհ"),
        ("Khmer", "សួស្តីពិភពលោក"),
        ("Burmese", "မင်္ဂလာပါကမ္ဘာလောက"),
        ("Tibetan", "འཛམ་གླིང་བདེ་ལེགས།"),
        ("Amharic", "ሰላም ለዓለም"),
        ("Cherokee", "ᎣᏏᏲ ᎡᎶᎯ"),
        ("Sinhala", "හෙලෝ වර්ල්ඩ්"),
        ("Gothic", "𐌷𐌰𐌹𐌻𐍃"),
        ("rare Han", "龘靐齉爩鱻麤"),
        ("Han extension B", "𠀀𠀁𠀂𠀃"),
        ("Yi", "ꆈꌠꁱꂷ"),
        ("private use", "\ue000\ue001\uf8ff"),
        ("fullwidth", "ＡＢＣ，！？"),
    ],
)
@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_every_script_has_a_sane_weight(script: str, sample: str, vocabulary: str) -> None:
    """Scripts that hardly any text was fitted on are counted at least at two thirds and at most twice (WE-04)."""
    text = f"{sample} " * 30
    assert 0.66 < EstimatingCounter(vocabulary).count(text) / exact_counter(vocabulary).count(text) < 2


@pytest.mark.parametrize("text", ["", "\x00", "\ud800", "\udfff\ud800", "\n", "\uffff", "\U0010ffff", "<|endoftext|>"])
def test_any_text_has_a_count(text: str) -> None:
    """Every string has a count: 0 when empty, else at least 1, and `upper` is not below it."""
    counter = EstimatingCounter()
    assert counter.count(text) >= (1 if text else 0)
    assert counter.upper(text) >= counter.count(text)
    assert EstimatingCounter().count("") == EstimatingCounter().upper("") == 0


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_slices_of_long_text_add_up(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text taken in slices of any size, between any characters, has the units of the whole."""
    text = "Größe: 12px; 中文 and 😀 \ud83d x\n\n  y" * 90
    whole = EstimatingCounter().units(text)
    monkeypatch.setattr("plimsoll.tokens.estimate.COUNT_SLICE_CHARS", size)
    assert EstimatingCounter().units(text) == whole


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_weights_keep_their_promises(vocabulary: str) -> None:
    """No cost is negative, no pair costs a whole token, ASCII costs only as pairs, the padding nothing."""
    fitted = weights(vocabulary)
    assert len(fitted.pairs) == len(fitted.characters) == 65_536
    assert 0 <= min(fitted.pairs) <= max(fitted.pairs) < UNITS
    assert min(fitted.characters) >= 0
    assert not any(fitted.characters[:128])
    assert not any(fitted.pairs[255 * 256 :])
    assert 1.1 < fitted.margin < 1.3


def test_big_endian_machines_count_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the machine reads pairs of bytes the other way round, they are turned."""
    little = EstimatingCounter().units("abc déf")
    from plimsoll.tokens import estimate

    class Turned(estimate.array):
        def __new__(cls, code: str, data: bytes) -> Self:
            turned = super().__new__(cls, code, data)
            turned.byteswap()
            return turned

    monkeypatch.setattr(estimate, "array", Turned)
    monkeypatch.setattr(sys, "byteorder", "big")
    assert EstimatingCounter().units("abc déf") == little
