"""Reports of any kind, at any moment, leave a session that works: within its budget, valid, and the same when opened again."""

from __future__ import annotations

import random
import warnings
from pathlib import Path
from typing import Any

import pytest

import plimsoll

WORDS = "the load line of a ship marks how deep she may lie in the water".split()


def message(rng: random.Random, role: str) -> dict[str, Any]:
    """Something said, of any size up to some hundred tokens."""
    return {"role": role, "content": " ".join(rng.choice(WORDS) for _ in range(rng.randint(1, 300)))}


def step(rng: random.Random, session: plimsoll.Session) -> None:
    """One thing that a host may do."""
    match rng.randrange(8):
        case 0 | 1 | 2:
            session.append(message(rng, "user" if rng.random() < 0.5 else "assistant"))
        case 3 | 4:
            session.view()
        case 5:
            prompt = rng.choice([0, 1, rng.randrange(3_000), rng.randrange(20_000), rng.randrange(10**7)])
            session.record_usage(prompt, rng.randrange(500), rng.choice([0, rng.randrange(5_000)]))
        case 6:
            session.compact(actual_pre_tokens=rng.choice([None, rng.randrange(1, 10**6)]))
        case _:
            done = [one for one in session.compactions() if not one.undone]
            if done:
                session.rollback(rng.choice(done).id)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("model", ["gpt-4o", "claude-sonnet-4-5"])
def test_no_report_breaks_a_session(seed: int, model: str, tmp_path: Path) -> None:
    """Whatever is reported, views keep within the budget, end with what was said last, and reopening changes no number."""
    rng = random.Random(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", plimsoll.errors.UnseenTokensWarning)
        with plimsoll.open("s", store=tmp_path, model=model, max_tokens=4_000, durability="os") as session:
            session.append(message(rng, "user"))
            for _ in range(60):
                step(rng, session)
                status = session.status()
                assert 0 <= status.unseen_tokens < status.max_tokens == 4_000
            session.append({"role": "user", "content": "What is the load line?"})
            view = session.view()
            assert plimsoll.count_tokens(view, model="gpt-4o") <= 4_000
            assert "What is the load line?" in str(view[-1])
            assert plimsoll.validate(view) == []
            status, check = session.status(), session.check()
        with plimsoll.open("s", store=tmp_path) as again:
            assert (again.status(), again.check(), again.peek()) == (status, check, view)
