"""Counts from the vocabularies' tables: those of the engine, character by character, and bounded work."""

from __future__ import annotations

import json
import pathlib
import random
import subprocess
import sys
import time
import unicodedata

import pytest

from plimsoll.limits import COUNT_TABLE_WORK_MAX
from plimsoll.tokens import exact, table
from plimsoll.tokens.cache import CachingCounter
from plimsoll.tokens.exact import ExactCounter, SplintrEngine, VocabularyEngine
from plimsoll.tokens.table import KINDS_SIZE, VocabularyTable

VOCABULARIES = ("o200k_base", "cl100k_base")
ASIDE = pathlib.Path(__file__).parents[3].parent / "shared/evals"
CONTEXTS = "{0}{0}x{0}X{0}1{0}{0}2{0}3 {0} x\n {0}\n{0} 'l{0}'{0} {0}/{0}a X{0}Y{0}  {0}{0}.{0}\n/"
MANY_ALIKE = [
    *(number for first, end in ((0x3401, 0x9FFC), (0xAC01, 0xD7A3), (0xE001, 0xF8FF)) for number in range(first, end)),
    *range(0x12000, 0x1BFFF),
    *range(0x20001, KINDS_SIZE),
]
"""Ideographs, syllables and private characters: large blocks of one category."""


@pytest.fixture
def unbounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables that count any amount."""
    monkeypatch.setattr(table, "COUNT_TABLE_WORK_MAX", 10**12)


@pytest.fixture(scope="module", params=VOCABULARIES)
def engine(request: pytest.FixtureRequest) -> tuple[str, SplintrEngine]:
    """A vocabulary, and splintr with it."""
    return request.param, SplintrEngine(request.param)


@pytest.mark.usefixtures("unbounded")
def test_every_ascii_character_counts_in_every_place(engine: tuple[str, SplintrEngine]) -> None:
    """Pairs of ASCII characters between letters, digits and spaces have splintr's counts."""
    chars = [chr(number) for number in range(128)]
    texts = [f"{a}{b}Ab{a} {b}1{a}{b}  {a}\n{b}'s{a}'LL{b}" for a in chars for b in chars]
    assert_same(engine, texts)


@pytest.mark.slow
@pytest.mark.usefixtures("unbounded")
def test_every_known_character_counts_in_every_place(engine: tuple[str, SplintrEngine]) -> None:
    """Each character that Python's oldest supported version knows is counted as splintr does, in all contexts of the patterns."""
    numbers = sorted(set(range(128, KINDS_SIZE)) - set(MANY_ALIKE) | set(MANY_ALIKE[::40]))
    chars = [char for char in map(chr, numbers) if unicodedata.category(char) not in {"Cn", "Cs"}]
    assert len(chars) > 14_000
    assert_same(engine, [CONTEXTS.format(char) for char in chars], known=14_000)


@pytest.mark.slow
@pytest.mark.usefixtures("unbounded")
def test_text_of_every_kind(engine: tuple[str, SplintrEngine]) -> None:
    """Texts in many languages, and what tools print, have splintr's counts."""
    if not ASIDE.is_dir():
        pytest.skip("no ../shared/evals beside the checkout")
    lines = (ASIDE / "multilingual/samples.jsonl").read_text("utf-8").splitlines()
    texts = [json.loads(line)["text"] for line in lines]
    printed = [path.read_text("utf-8", "replace") for path in (ASIDE / "tool_outputs").iterdir() if path.is_file()]
    texts += [text[at : at + 9_999] for text in printed for at in range(0, len(text), 9_999)]
    assert_same(engine, texts, known=len(texts) // 2)


def assert_same(engine: tuple[str, SplintrEngine], texts: list[str], *, known: int = 0) -> None:
    """What the table counts, splintr counts the same; it counts all, or at least `known`."""
    vocabulary, splintr = engine
    counting = VocabularyTable(vocabulary)
    counts = [counting.count(text) for text in texts]
    wrong = [
        (text, count, truth)
        for text, count, truth in zip(texts, counts, map(splintr.count, texts), strict=True)
        if count not in {None, truth}
    ]
    assert wrong == []
    assert len(counts) - counts.count(None) >= (known or len(texts))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<|endoftext|> <|im_start|>",
        "don'T I't'S 'LLama it\u2019s we'Re",
        " " * 200 + "x" + "\n" * 99 + "\t\t  \r\n/",
        "0123456789 \u0661\u0662\u0663\u0664 \u2167\u00bd",
        "ǅ ª ʰ ͅ a\u0301 \u200d\ufe0f👩\u200d💻 \x1c\x85\xa0\u2028x",
        "x" * 256,
        "🦀" * 64,
    ],
)
def test_hard_texts(engine: tuple[str, SplintrEngine], text: str) -> None:
    """Special tokens spelled out, odd contractions, long runs, digits of other scripts, marks, and the longest pieces."""
    assert_same(engine, [text])


@pytest.mark.parametrize("text", ["x" * 257, "é\u0378", "\U0003ffff", "\U000e0041", "I'\u017ft"])
def test_what_the_table_leaves_to_the_engine(text: str) -> None:
    """Long pieces, characters that are new, unassigned or very rare, and a contraction that engines do not agree about."""
    assert VocabularyTable("o200k_base").count(text) is None


def test_lone_surrogates_are_refused() -> None:
    """As by the engine, so that they are replaced."""
    with pytest.raises(UnicodeEncodeError):
        VocabularyTable("o200k_base").count("a\ud800b")


@pytest.mark.parametrize(("chars", "size"), [("abcdefgh", 6), ("xyzäß", 8), ("qxzjvk", 200), ("中国人大小", 60)])
def test_hostile_text_ends_the_work(chars: str, size: int) -> None:
    """Words that were never seen use up the work many times as fast as others, so that time and memory are bounded."""
    rng, counting, counted = random.Random(size), VocabularyTable("o200k_base"), 0
    while counting.count("".join(rng.choices(chars, k=size))) is not None:
        counted += size
    assert counted < table.COUNT_TABLE_WORK_MAX / 10
    assert len(counting._counts) < 50_000
    assert VocabularyTable("o200k_base").count("the same words again, " * (COUNT_TABLE_WORK_MAX // 30)) is not None


def test_a_short_text_is_counted_once() -> None:
    """Names and lines that are counted again and again take no more of the work, nor do they once it is used up."""
    counting = VocabularyTable("o200k_base")
    text = "src/harbour/größe.py: the tide is high"
    tokens, left = counting.count(text), counting.left
    assert [counting.count(text) for _ in range(100)] == [tokens] * 100
    assert counting.left == left
    while counting.count(f"{counting.left} the tide is high " * 1_000) is not None:
        pass
    assert counting.count(text) == tokens


def test_a_line_with_other_characters_is_more_work() -> None:
    """Text that is cut by its stand-ins takes more than twice as long as ASCII, and as much of the work."""
    works = []
    for dash in "-\u2013":
        counting = VocabularyTable("o200k_base")
        text = f"the tide is high {dash} " * 1_000
        counting.count(text)
        before = counting.left
        counting.count(text)
        works.append((before - counting.left) / len(text))
    assert works == pytest.approx([1, 2], abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["words", "new words", "dashes", "中国人大小多少", "qxzjvk", '{}[]"\\:,'])
def test_the_work_takes_no_longer_than_loading_the_engine(kind: str) -> None:
    """Whatever is counted, all that the table may do costs at most the processor time of the engine that it spares."""
    rng, counting, started = random.Random(7), VocabularyTable("o200k_base"), time.process_time()
    while counting.count(some_text(kind, rng)) is not None:
        pass
    counted, started = time.process_time() - started, time.process_time()
    VocabularyEngine("o200k_base").warm()
    assert counted < time.process_time() - started


def some_text(kind: str, rng: random.Random) -> str:
    """Lines of known words, of new ones, with other characters in between, or clauses of the characters given."""
    words = ["tide", "berth", "crane", "return", "self"]
    if kind == "new words":
        words = ["".join(rng.choices("abcdefghijklmnoprstu", k=6)) for _ in range(90)]
    elif kind not in {"words", "dashes"}:
        words = ["".join(rng.choices(kind, k=rng.randint(3, 20))) for _ in range(90)]
    separator = " \u2013 " if kind == "dashes" else " "
    return "\n".join(separator.join(rng.choices(words, k=12)) for _ in range(50))


def test_the_engine_takes_over_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a text is not for the table, splintr counts, and the table is forgotten."""
    monkeypatch.setattr(table, "COUNT_TABLE_WORK_MAX", 1_000)
    counting = VocabularyEngine("o200k_base")
    assert counting.count("one two three") == 3
    assert counting._splintr is None
    assert counting.count_all(["the tide is high " * 100] * 2) == [401, 401]
    assert counting._splintr is not None
    assert counting._table is None
    assert counting.count("one two three") == 3
    assert counting.count("q" * 300) == SplintrEngine("o200k_base").count("q" * 300)


def test_nothing_is_counted_ahead_while_the_table_counts() -> None:
    """Many texts at once gain nothing from the table; what it may no longer count is counted at once, by the engine."""
    engine = VocabularyEngine("o200k_base")
    counter = CachingCounter(ExactCounter("o200k_base", engine.count, engine.count_all, engine.warm, engine.left_chars))
    texts = [f"{number} the tide is high " * 500 for number in range(20)]
    counter.prime(texts)
    assert counter.cache_info().entries == 0
    counter.prime([*texts, "high " * (COUNT_TABLE_WORK_MAX // 5)])
    assert counter.cache_info().entries == 21


def test_a_little_text_is_counted_without_the_engine() -> None:
    """A process that counts and fits some ten thousand tokens, in lines that are not ASCII, does not load splintr."""
    program = """
import sys, plimsoll
text = "the tide is high, 12 times: größer 检查.\\n" * 50
messages = [{"role": "user", "content": f"{number} {text}"} for number in range(40)]
assert plimsoll.count_tokens(messages, model="gpt-4") > 40
assert len(plimsoll.fit(messages, max_tokens=20_000).messages) < 40
assert "splintr" not in sys.modules
plimsoll.preload()
assert "splintr" in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_a_long_text_is_counted_in_parts() -> None:
    """The counts of the parts add up to that of the whole, by the table as by the engine."""
    text = "def tide(height):\n    return height * 2  # größer\n" * 2_000
    assert len(text) > 10 * exact.COUNT_ALONE_CHARS
    assert VocabularyEngine("o200k_base").count(text) == SplintrEngine("o200k_base").count(text)
