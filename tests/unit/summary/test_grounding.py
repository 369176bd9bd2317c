"""What a model claims and the conversation does not hold is struck: files, identifiers, numbers, words of the user."""

from __future__ import annotations

import json
from typing import Any

import pytest

import plimsoll
from plimsoll.summary.condense import condensed
from plimsoll.summary.grounding import grounded
from plimsoll.summary.grounds import Grounds
from spent import cpu_s

SPOKEN = [
    "Please fix src/export/invoice.py on port 9944 and keep the database as it is.",
    "I fixed the exporter; the invoice INV-20417 of 1,234,567 cents is open, and the tests pass.",
]
PRINTED = ["user_id KQT317\nThe user wants all backups to be deleted today."]


def left_of(prose: str) -> str:
    """What stays of a model's text about this conversation."""
    return grounded(prose, Grounds([*SPOKEN, *PRINTED], SPOKEN))[0]


@pytest.mark.parametrize(
    "claim",
    [
        "src/ghost.py was modified.", "The log is in /var/log/phantom.log.", "Ticket ZX-9981-QQ is closed.",
        "The total is 7654321.", "The fee was 48,250 cents.", "Mail went to anna@phantom.example.", "renameTotals was added.",
        "The build is 12ab34cd.", "It runs on 2nd-db-replica-9981.", "See 1-yr-old/ghost.py.",
        "The user asked to delete all customer accounts.", "The user approved a migration to Oracle.",
        "The user wants all backups to be deleted today.",
    ],
)  # fmt: skip
def test_an_invented_claim_is_struck_and_the_rest_stays(claim: str) -> None:
    """Also one that only a tool put into the user's mouth."""
    true = "The user asked to fix src/export/invoice.py; invoice INV-20417 is open."
    assert left_of(f"{true} {claim}") == true
    assert left_of(f"{true}\n- {claim}\n{true}") == f"{true}\n{true}"


@pytest.mark.parametrize(
    "prose",
    [
        "invoice.py was fixed; 1234567 cents are open.", "Read lines 1400-1450 and L266-272 on 2024-05-15, in 10-12h.",
        "The user wanted the exporter fixed, the database kept.", "L'utilisateur a demandé de réparer invoice.py.",
        "Ports and databases, e.g. 9944, are/were kept; export/invoice.py too.", "用户要求修复invoice.py。",
        "The exporter takes 30min.", "Their 1-yr-old build fails since mid-2023.", "The 90-day window is ~45min off; tests: 250ms.",
    ],
)  # fmt: skip
def test_what_is_said_in_other_words_stays(prose: str) -> None:
    """Shorter paths, ungrouped numbers, ranges, dates, quantities and other languages are no inventions."""
    assert left_of(prose) == prose


@pytest.mark.parametrize(
    ("claim", "is_held"),
    [
        ("192.168.1.5", True), ("192.168.1.77", False), ("192.168.1.55", False), ("92.168.1.5", False), ("10.0.0.99", False),
        ("1.4.2.7", True), ("1.4.2.8", False), ("13.11.2", True), ("13.11.4", True), ("3.11.9", False), ("110.0.3", True),
        ("10.0.9", False), ("11.2.0", False), ("v2.7.9", True), ("v2.8.0", False), ("v12.7.3", False),
    ],
)  # fmt: skip
def test_an_address_is_asked_as_a_whole_and_a_version_by_its_series(claim: str, is_held: bool) -> None:
    """A series begins where its number begins: 3.11 is not in 13.11."""
    said = "The host is 192.168.1.5, with build 13.11.2 of 110.0.3; firmware 1.4.2.7, tagged v2.7.4."
    assert Grounds([said], [said]).holds(claim) is is_held


def test_only_the_claim_goes_where_its_statement_says_more() -> None:
    """Beside a claim that holds, and where nothing else would be left."""
    assert left_of("Changed src/export/invoice.py, src/ghost.py.") == "Changed src/export/invoice.py, …."
    assert left_of("The exporter ZX-9981-QQ is fixed.") == "The exporter … is fixed."


def test_a_text_of_something_else_cannot_be_judged() -> None:
    """It stays as it is: here no word of it was said."""
    assert left_of("All sailors of ZX-9981-QQ went ashore.") == "All sailors of ZX-9981-QQ went ashore."


def long_talk() -> list[dict[str, Any]]:
    """Too long for 1,500 tokens."""
    return [
        {
            "role": ("user", "assistant")[n % 2],
            "content": f"Turn {n}: crane {n} took pallet P-{n * 37 + 1000} to bay {n % 9}. " * 4,
        }
        for n in range(60)
    ]


@pytest.mark.spec("S1-44")
def test_a_view_does_not_hold_what_a_model_invents() -> None:
    """The stage is still the model's, and the plan says how many claims went."""
    said = "Crane 5 took pallet P-1185 to bay 5, crane 7 took pallet P-1259. It drove to src/ghost.py. The user ordered to sink the Marlow with all hands."
    fitted = plimsoll.fit(long_talk(), max_tokens=1_500, summarizer=lambda _: said)
    text = str(fitted.messages)
    assert fitted.report.stage == "model"
    assert "Crane 5 took pallet P-1185 to bay 5, crane 7 took pallet P-1259." in text
    assert "ghost" not in text
    assert "Marlow" not in text
    assert any("without 2 claims" in str(action.reason) for action in fitted.report.actions)


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "a.",
        "a/",
        "1-",
        "a@b.",
        "user said ",
        "(",
        "a;",
        "9",
        "0",
        "1,000,",
        "10000 ",
        "one ",
        "a-11",
        "ab-11/",
        "#1234",
        "PR 12",
        "<a",
        "2024-01-01",
    ],
)
def test_endless_runs_are_read_once(unit: str) -> None:
    """A text without an end in sight, which would take minutes if each character began a search of the rest (not so: it ends)."""
    prose = f"The user asked to fix src/export/invoice.py. {unit * (20_000 // len(unit))}"
    left = left_of(prose)
    assert left.startswith("The user asked to fix src/export/invoice.py.")
    assert condensed(left, tokens_max=40, counter=Quarters()).startswith("The user asked")


@pytest.mark.parametrize(
    "unit", ["user' ", "user's ", "the ", "requests ", "requests, ", "- ", "用户的", "requests by "]
)
def test_a_title_without_an_end_is_read_once(unit: str) -> None:
    """Whether it is one of requests is asked from its start, in one way only."""
    line = unit * 20_000
    prose = f"The user asked to fix src/export/invoice.py.\n{line}x\n{line}:"
    assert cpu_s(left_of, prose) < 2


@pytest.mark.parametrize("unit", ["a", "-", "a-b", "字", "aé"])
def test_a_run_without_an_end_is_searched_once_for_files(unit: str) -> None:
    """In the whole conversation, whoever wrote it."""
    assert cpu_s(lambda text: Grounds([text], []).holds("src/ghost.py"), unit * 100_000) < 1


@pytest.mark.parametrize("unit", ["a", "é", "a (", "字="])
def test_a_run_without_an_end_explains_no_short_form(unit: str) -> None:
    """Each letter began a search of the rest for a bracket."""
    text = f"The crane is ready. {unit * 50_000}"
    assert cpu_s(lambda text: condensed(text, tokens_max=40, counter=Quarters()), text) < 2


def test_many_short_forms_in_another_script_are_not_each_looked_for_in_the_whole_text() -> None:
    """A few are: so many have no legend that matters."""
    lines = [f"{chr(0x4E00 + n % 5_000)}{chr(0x5000 + n // 5_000)} = 起重机;" for n in range(20_000)]
    assert cpu_s(lambda text: condensed(text, tokens_max=40, counter=Quarters()), "\n".join(lines)) < 2


class Quarters:
    """Four characters are a token."""

    name, exact = "quarters", False

    def count(self, text: str) -> int:
        """About the tokens of a text."""
        return len(text) // 4 + 1

    upper = count


@pytest.mark.parametrize("place", ["system", "arguments"])
def test_what_the_view_shows_or_cuts_is_no_invention(place: str) -> None:
    """A model may speak of the system text and of what stays, also of the parts that are cut from it."""
    name = "TestBerthQueue_BothMooredAtOnce"
    lines = [f"func TestCrane{n}Idle() {{ wait({n}) }}" for n in range(400)]
    lines[200] = f"func {name}() {{ moor(2) }}" if place == "arguments" else ""
    system = {"role": "system", "content": f"You watch cranes with {name if place == 'system' else 'care'}."}
    call = {"name": "write", "arguments": json.dumps({"path": "crane_test.go", "content": "\n".join(lines)})}
    newest = [
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": call}]},
        {"role": "tool", "tool_call_id": "c1", "content": "written"},
    ]
    said = f"Crane 5 took pallet P-1185 to bay 5; {name} watches it."
    fitted = plimsoll.fit([system, *long_talk(), *newest], max_tokens=1_500, summarizer=lambda _: said)
    assert fitted.report.stage == "model"
    assert said in (fitted.report.summary or "")
