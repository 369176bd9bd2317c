"""Fit the costs in src/plimsoll/tokens/*.weights. Needs numpy, scipy and splintr-rs.

    python bench/fit_estimator.py MATERIAL_FOLDER [--hold-out] [--check SAMPLES.jsonl]

See estimator_material.py for what to put into the folder. `--check` takes texts with true counts that were not fitted on;
`--hold-out` leaves every fifth kind of text out of the fit and reports on those. Nothing is written then.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import zlib
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from splintr import Tokenizer

from estimator_material import gather
from plimsoll.tokens.estimate import CHARACTER_UNITS, UNITS, EstimatingCounter, Weights
from plimsoll.tokens.exact import exact_counter

OUT = Path(__file__).parents[1] / "src/plimsoll/tokens"
SIZE = 65_536
PAIR_MAX = 0.9
DAMPED_FROM = 0.3
LATIN, LATIN_SIGN = 0x81, 0x82
HOSTILE = {
    "punctuation",
    "printable",
    "any-script",
    "astral",
    "rare-han",
    "rare-hangul",
    "letters",
    "capitals",
    "hex-block",
    "base64-block",
    "repeats",
    "emoji-only",
    "blank-lines",
}
"""Made kinds that no ordinary text is like. Fitted with less weight, and not part of the promise about `upper`."""

SCRIPTS = (
    (0x01, 0x02, LATIN), (0x03, 0x03, 0x83), (0x04, 0x04, 0x84), (0x05, 0x05, 0x85), (0x06, 0x06, 0x86), (0x07, 0x08, 0x87),
    *((high, high, 0x88 + high - 9) for high in range(0x09, 0x11)), (0x11, 0x1D, 0x90), (0x1E, 0x1E, LATIN), (0x1F, 0x1F, 0x83),
    (0x20, 0x20, 0x91), (0x21, 0x23, 0x92), (0x24, 0x25, 0x93), (0x26, 0x2F, 0x94), (0x30, 0x30, 0x95), (0x31, 0x33, 0x96),
    (0x34, 0x4D, 0x97), (0x4E, 0x9F, 0x98), (0xA0, 0xAB, 0x90), (0xAC, 0xD7, 0x99), (0xD8, 0xDB, 0x9A), (0xDC, 0xDF, 0x9B),
    (0xE0, 0xFA, 0x9C), (0xFB, 0xFE, 0x87), (0xFF, 0xFF, 0x9D),
)  # fmt: skip


def class_tables() -> tuple[bytes, bytes]:
    """Classes of Latin-1 characters, and of code units by their upper byte (0 where that byte is 0)."""
    low = bytes(
        code if code < 128 else LATIN if code >= 0xC0 and code not in (0xD7, 0xF7) else LATIN_SIGN
        for code in range(256)
    )
    high = bytearray(256)
    for first, last, name in SCRIPTS:
        high[first : last + 1] = bytes([name]) * (last - first + 1)
    return low, bytes(high)


LOW, HIGH = class_tables()


def features(text: str) -> tuple[np.ndarray, np.ndarray]:
    """Which costs the text pays and how often: pairs first, then code units."""
    units = np.frombuffer(text.encode("utf-16-le", "surrogatepass"), np.uint16)
    low, high = np.frombuffer(LOW, np.uint8), np.frombuffer(HIGH, np.uint8)
    classes = np.where(units < 256, low[units & 255], high[units >> 8]).astype(np.int64)
    before = np.concatenate([[10], classes[:-1]])
    return np.unique(
        np.concatenate([before + 256 * classes, SIZE + units[units >= 128].astype(np.int64)]), return_counts=True
    )


def slices(text: str, kind: str, count: int, seed: str) -> list[str]:
    rng = random.Random(seed + kind)
    out = []
    for _ in range(count):
        size = int(np.exp(rng.uniform(np.log(80), np.log(6000))))
        start = rng.randrange(max(1, len(text) - size))
        out.append(text[start : start + size])
    return out


def kind_weight(kind: str, chars: int) -> float:
    group, name = kind.split("/", 1)
    weight = min(1.0, chars / 60_000) ** 0.5 * (3 if group in {"en", "code"} else 1)
    return weight * (0.25 if name == "names" else 0.5 if group == "made" and name in HOSTILE else 1)


def alone(vocabulary: str) -> np.ndarray:
    """Tokens of each code unit by itself; surrogates as half of a rare character."""
    tokenizer = Tokenizer.from_pretrained(vocabulary)
    return np.array(
        [2 if 0xD800 <= code < 0xE000 else len(tokenizer.encode_ordinary(chr(code))) for code in range(SIZE)]
    )


def fit(vocabulary: str, texts: dict[str, str], kinds: list[str]) -> Weights:
    counter = exact_counter(vocabulary)
    rows = [(text, kind) for kind in kinds for text in slices(texts[kind], kind, 50, "fit")]
    truth = np.array([counter.count(text) for text, _ in rows], float)
    rows = [row for row, tokens in zip(rows, truth, strict=True) if tokens >= 15]
    truth = truth[truth >= 15]
    weight = np.array([kind_weight(kind, len(texts[kind])) for _, kind in rows])
    matrix = sparse.diags(1 / truth) @ counted([text for text, _ in rows])
    single = alone(vocabulary)
    group = (np.arange(SIZE) >> 7) * 4 + np.minimum(single, 3)
    tie = sparse.csr_matrix((np.ones(SIZE), (np.arange(SIZE), group)), shape=(SIZE, group.max() + 1))
    pairs, groups = solve(matrix, weight / weight.sum(), tie)
    start = np.where(np.asarray((matrix[:, SIZE:] @ tie).sum(0)).ravel() > 0, groups, 0)
    prior = np.where(start[group] > 0, start[group], single * 0.85)
    pairs, characters = refine(matrix, weight / weight.sum(), pairs, prior)
    seen = np.asarray(matrix[:, :SIZE].sum(0)).ravel() > 0
    return quantised(fill(pairs, seen), characters)


def counted(texts: list[str]) -> sparse.csr_matrix:
    starts, columns, numbers = [0], [], []
    for text in texts:
        column, number = features(text)
        columns.append(column)
        numbers.append(number)
        starts.append(starts[-1] + len(column))
    return sparse.csr_matrix(
        (np.concatenate(numbers).astype(float), np.concatenate(columns), starts), shape=(len(texts), 2 * SIZE)
    )


def descend(
    matrix: sparse.csr_matrix, weight: np.ndarray, start: np.ndarray, ridge: np.ndarray, top: np.ndarray
) -> np.ndarray:
    """Least relative error, large ones damped, with costs between 0 and `top` and drawn to `start`."""
    transposed = matrix.T.tocsr()

    def loss(costs: np.ndarray) -> tuple[float, np.ndarray]:
        error = matrix @ costs - 1
        damped = np.sqrt(1 + (error / DAMPED_FROM) ** 2)
        value = 2 * DAMPED_FROM**2 * (weight * (damped - 1)).sum() + (ridge * (costs - start) ** 2).sum()
        return value, transposed @ (2 * weight * error / damped) + 2 * ridge * (costs - start)

    bounds = list(zip(np.zeros_like(top), top, strict=True))
    return minimize(
        loss, np.clip(start, 0, top), jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 200, "maxcor": 20}
    ).x


def solve(matrix: sparse.csr_matrix, weight: np.ndarray, tie: sparse.csr_matrix) -> tuple[np.ndarray, np.ndarray]:
    """Costs of pairs, and of characters alike within a half block that are as many tokens alone."""
    both = sparse.hstack([matrix[:, :SIZE], matrix[:, SIZE:] @ tie]).tocsr()
    start = np.concatenate([np.full(SIZE, 0.2), np.array([0.3, 0.4, 1.3, 2.2])[np.arange(tie.shape[1]) % 4]])
    top = np.concatenate([np.full(SIZE, PAIR_MAX), np.full(tie.shape[1], 4.0)])
    costs = descend(both, weight, start, np.full(len(start), 1e-6), top)
    return costs[:SIZE], costs[SIZE:]


def refine(
    matrix: sparse.csr_matrix, weight: np.ndarray, pairs: np.ndarray, prior: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    start = np.concatenate([pairs, prior])
    top = np.concatenate([np.full(SIZE, PAIR_MAX), np.full(SIZE, 4.0)])
    costs = descend(matrix.tocsr(), weight, start, np.concatenate([np.full(SIZE, 1e-6), np.full(SIZE, 3e-6)]), top)
    return costs[:SIZE], costs[SIZE:]


def fill(pairs: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Pairs never seen cost the mean of what their character costs after others, and at least half a token in ASCII."""
    table, known = pairs.reshape(256, 256).copy(), seen.reshape(256, 256)
    for name in range(256):
        mean = table[name][known[name]].mean() if known[name].any() else 0.5
        table[name][~known[name]] = max(mean, 0.5) if name < 128 else min(mean, 0.5)
    table[255] = 0
    return table.ravel()


def quantised(pairs: np.ndarray, characters: np.ndarray) -> Weights:
    characters = characters.copy()
    characters[:128] = 0
    steps = np.clip(np.rint(characters * UNITS / CHARACTER_UNITS), 0, 255).astype(int)
    costs = np.clip(np.rint(pairs * UNITS), 0, 255).astype(int)
    return Weights(low=LOW, high=HIGH, pairs=costs.tolist(), characters=steps.tolist(), margin=1.0)


def errors(
    vocabulary: str, fitted: Weights, texts: dict[str, str], kinds: list[str], tokens_min: int = 30
) -> dict[str, np.ndarray]:
    counter, truth = EstimatingCounter(vocabulary, fitted=fitted), exact_counter(vocabulary)
    out = {}
    for kind in kinds:
        pairs = [(counter.units(text) / UNITS, truth.count(text)) for text in slices(texts[kind], kind, 30, "test")]
        found = np.array([guess / true - 1 for guess, true in pairs if true >= tokens_min])
        if len(found):
            out[kind] = found
    return out


def is_normal(kind: str) -> bool:
    return not kind.endswith("/names") and kind.split("/")[1] not in HOSTILE


def report(vocabulary: str, fitted: Weights, texts: dict[str, str], kinds: list[str], check: Path | None) -> float:
    found = errors(vocabulary, fitted, texts, kinds, 100)
    normal = {kind: error for kind, error in found.items() if is_normal(kind)}
    every = np.concatenate(list(normal.values()))
    margin = max(1 / (1 + np.quantile(every, 0.007)), 0.885 / (1 + every.min()))
    print(
        vocabulary,
        "kinds",
        len(normal),
        "mean absolute error",
        round(float(np.mean([abs(e).mean() for e in normal.values()])), 4),
        "bias",
        round(float(every.mean()), 4),
        "margin",
        round(margin, 3),
        "under",
        (every * margin + margin - 1 < 0).mean(),
    )
    print("  lowest", sorted((round(float(e.min()), 2), k) for k, e in normal.items())[:14])
    print(
        "  hostile",
        {
            k: (round(float(e.mean()), 2), round(float(e.min()), 2))
            for k, e in found.items()
            if k.split("/")[1] in HOSTILE
        },
    )
    if check:
        rows = [json.loads(line) for line in check.open(encoding="utf-8")]
        counter = EstimatingCounter(vocabulary, fitted=fitted)
        error = np.array([counter.count(row["text"]) / row[vocabulary.removesuffix("_base")] - 1 for row in rows])
        print(
            "  check: mean absolute error",
            abs(error).mean(),
            "bias",
            error.mean(),
            "lowest",
            error.min(),
            "highest",
            error.max(),
        )
    return margin


def write(vocabulary: str, fitted: Weights, margin: float) -> None:
    data = (
        fitted.low
        + fitted.high
        + bytes(fitted.pairs)
        + bytes(fitted.characters)
        + int(np.ceil(margin * 1000)).to_bytes(4, "little")
    )
    path = OUT / f"{vocabulary}.weights"
    path.write_bytes(zlib.compress(data, 9))
    print("wrote", path.name, path.stat().st_size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--hold-out", action="store_true")
    parser.add_argument("--check", type=Path)
    options = parser.parse_args()
    texts = gather(options.folder)
    held = random.Random(3).sample(sorted(texts), len(texts) // 5) if options.hold_out else []
    for vocabulary in ("o200k_base", "cl100k_base"):
        fitted = fit(vocabulary, texts, [kind for kind in texts if kind not in held])
        margin = report(vocabulary, fitted, texts, held or list(texts), options.check)
        if not held:
            write(vocabulary, fitted, margin)


if __name__ == "__main__":
    sys.exit(main())
