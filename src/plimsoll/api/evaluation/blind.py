"""Sheets for blind reading: people or models answer from one compacted text, and a grader does not know which way made it.

A folder holds `reader1` to `readerN`, each with texts and questions; a reader sees one of these folders only, and never one
conversation in two ways. `keys` holds what readers and the grader must not see.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from plimsoll.api.evaluation.values import Evaluation, Outcome, Probe
from plimsoll.errors import SettingError, StoreUnusable
from plimsoll.light.dataclass import dataclass
from plimsoll.policy.validation import integer, path_text, short_repr

QUESTIONS_MAX: Final = 14
"""Questions for each conversation: a reader stays attentive."""

_SEED: Final = 5

READERS_NOTE: Final = """Answer each question of the *_questions.json files from the *_context.txt with the same number alone.
Write answers.json here: an object with the id of each question ("q") and your answer in a few words, or "not in the text".
"""
GRADERS_NOTE: Final = """Grade each answer of sheet.json against "gold": 1 right, 0.5 partly right, 0 wrong or not in the text.
Write grades.json here: an object with each "n" as text and its grade.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlindResult:
    """What grading needs next, or the grades: the mean by way, and the number of answers."""

    missing: str | None
    """The file that is awaited; None once all is graded."""
    means: Mapping[str, float]
    answers: int


def write_sheets(evaluation: Evaluation, folder: str | Path, *, questions_max: int = QUESTIONS_MAX) -> int:
    """Write the texts and questions for readers, one folder for each way, and return the number of questions.

    Raises StoreUnusable if the folder exists or cannot be written, SettingError.
    """
    place = Path(path_text("folder", folder))
    most = integer("questions_max", questions_max, least=1)
    if not isinstance(evaluation, Evaluation):
        raise SettingError("evaluation", f"must be what evaluate() returned, not {short_repr(evaluation)}")
    chance = random.Random(_SEED)  # noqa: S311 - a shuffle, not a secret
    ways = [score.way for score in evaluation.scores]
    key: dict[str, Any] = {"questions": {}, "readers": {}}
    try:
        place.mkdir(parents=True)
        for number, asked in enumerate(evaluation.conversations):
            outcomes = {outcome.way: outcome for outcome in evaluation.outcomes if outcome.conversation == asked.name}
            probes = chance.sample(asked.probes, min(most, len(asked.probes)))
            key["questions"] |= {
                f"{number}-{index}": {"question": probe.question, "gold": probe.answer, "kind": probe.kind}
                for index, probe in enumerate(probes)
            }
            for index, way in enumerate(ways):
                reader = f"reader{(index + number) % len(ways) + 1}"
                key["readers"][f"{reader}/{number}"] = way
                _deal(place / reader, number, outcomes[way], probes)
        _write(place / "keys" / "key.json", key)
        (place / "README.txt").write_text(READERS_NOTE, encoding="utf-8")
    except (OSError, ValueError) as error:  # ValueError: a path that no file system can hold
        raise StoreUnusable(ascii(str(place)), reason=str(error)) from error
    return len(key["questions"])


def _deal(reader: Path, number: int, outcome: Outcome, probes: Sequence[Probe]) -> None:
    """One text and its questions into a reader's folder."""
    reader.mkdir(exist_ok=True)
    (reader / f"{number:03d}_context.txt").write_bytes(outcome.text.encode("utf-8", "backslashreplace"))
    asked = [{"q": f"{number}-{index}", "question": probe.question} for index, probe in enumerate(probes)]
    _write(reader / f"{number:03d}_questions.json", asked)
    (reader / "README.txt").write_text(READERS_NOTE, encoding="utf-8")


def grade_sheets(folder: str | Path) -> BlindResult:
    """Do the next step of a folder that `write_sheets` made: shuffle the readers' answers for a grader, then add up the grades.

    Raises StoreUnusable if a file cannot be read or is not what its note asks for, SettingError.
    """
    place = Path(path_text("folder", folder))
    key = _read(place / "keys" / "key.json")
    readers = sorted({reader.split("/")[0] for reader in key["readers"]})
    for reader in readers:
        if not (place / reader / "answers.json").exists():
            return BlindResult(missing=f"{reader}/answers.json", means={}, answers=0)
    given = [(reader, q, a) for reader in readers for q, a in sorted(_read(place / reader / "answers.json").items())]
    random.Random(_SEED).shuffle(given)  # noqa: S311 - as above
    if not (place / "grades.json").exists():
        sheet = [
            {"n": n, **_shown(key["questions"], q), "answer": answer}
            for n, (_, q, answer) in enumerate(given)
            if q in key["questions"]
        ]
        _write(place / "sheet.json", sheet)
        (place / "README.txt").write_text(GRADERS_NOTE, encoding="utf-8")
        return BlindResult(missing="grades.json", means={}, answers=len(sheet))
    return _means(key, given, _read(place / "grades.json"))


def _means(key: Mapping[str, Any], given: Sequence[tuple[str, str, Any]], grades: Mapping[str, Any]) -> BlindResult:
    found: dict[str, list[float]] = defaultdict(list)
    for n, grade in grades.items():
        if n.isascii() and n.isdigit() and int(n) < len(given) and isinstance(grade, int | float):
            reader, q, _ = given[int(n)]
            found[key["readers"][f"{reader}/{q.split('-')[0]}"]].append(min(1.0, max(0.0, float(grade))))
    means = {way: sum(marks) / len(marks) for way, marks in sorted(found.items())}
    return BlindResult(missing=None, means=means, answers=sum(map(len, found.values())))


def _shown(questions: Mapping[str, Any], q: str) -> dict[str, str]:
    return {"question": questions[q]["question"], "gold": questions[q]["gold"]}


def _write(path: Path, value: object) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise StoreUnusable(str(path), reason=str(error), is_input=True) from error
    if not isinstance(found, dict):
        raise StoreUnusable(str(path), reason="it holds no JSON object", is_input=True)
    return found
