"""What an agent did by its tools, and what came of it, stays in the ledger and in a summary of little room."""

from __future__ import annotations

import json

import pytest
from summary_conversation import called

import plimsoll
from plimsoll.message import Message, text_message
from plimsoll.summary.ledger import Ledger, extend
from plimsoll.summary.ledger.calls import acts, understand
from plimsoll.summary.rules import render
from plimsoll.tokens.counter import counter_for


def _read(run: list[Message]) -> Ledger:
    return extend(Ledger.empty(), run, 0)


@pytest.mark.parametrize(
    ("name", "action"),
    [
        ("get_credit_score", "other"),
        ("dispatch_truck", "other"),
        ("get_bill_details", "other"),
        ("list_categories", "other"),
        ("create_thread", "other"),
        ("insert_row", "other"),
        ("ls", "search"),
        ("ListDir", "search"),
        ("mcp__fs__read_text_file", "read"),
        ("execute_bash", "shell"),
    ],
)
def test_a_tool_is_classified_by_whole_words_of_its_name(name: str, action: str) -> None:
    """A credit is no edit, a truck no patch and details no `ls`; what edits no file is no edit either."""
    assert understand(name, '{"customer": "C7"}').action == action


@pytest.mark.parametrize("name", ["MultiEdit", "str_replace_editor", "SearchReplace", "NotebookEdit", "write_to_file"])
def test_a_tool_that_edits_a_file_is_an_edit(name: str) -> None:
    """Whatever the style of its name."""
    assert understand(name, '{"file_path": "a.py", "new_str": "x"}').action == "edit"


@pytest.mark.parametrize(
    ("name", "arguments", "does"),
    [
        ("book_room", {"room": 4}, True),
        ("mcp__desk__create_issue", {"title": "x"}, True),
        ("updatePaymentMethod", {"card": "x"}, True),
        ("python", {"code": "print(apis.venmo.create_payment_request(amount=4))"}, True),
        ("open_claim", {"policy": 4}, True),
        ("bind_quote", {"quote": 4}, True),
        ("open_page", {"page": 4}, False),
        ("get_order", {"id": 4}, False),
        ("search_returns", {"id": 4}, False),
        ("python", {"code": "print(apis.venmo.show_payment_requests())"}, False),
    ],
)
def test_calls_that_do_something_are_told_from_those_that_look(
    name: str, arguments: dict[str, object], *, does: bool
) -> None:
    """By the verb in the name of the tool, or of the function that code calls."""
    assert acts(understand(name, json.dumps(arguments))) is does


def test_what_came_of_a_call_stays_beside_long_lists_of_ids() -> None:
    """A hold and a refused booking are in a summary in which the lists of four searches are not whole."""
    run = [text_message("user", "Book three seats to Trieste.")]
    for day in range(4):
        offers = [{"offer_id": f"off_{day}{n:02d}7ab01c9", "carrier": "LH", "price": 100 + n} for n in range(9)]
        run += called("search_flights", {"day": day}, json.dumps({"offers": offers}), call_id=f"s{day}")
    run += called("get_offer", {"offer_id": "off_1037ab01c9"}, '{"offer_id": "off_1037ab01c9"}', call_id="g")
    run += called("hold_offer", {"offer_id": "off_1037ab01c9"}, '{"hold_id": "HLD-5520", "pnr": "Q7TRXW"}', call_id="h")
    run += called("book_room", {"room": "r4"}, '{"error": "card_declined"}', call_id="b")
    run += called("enable_roaming", {"line": "L2"}, "Roaming is on now.", call_id="e")

    text = render(_read(run), tokens_max=200, counter=counter_for("gpt-4o")).text

    assert "hold_offer(off_1037ab01c9): hold_id HLD-5520, pnr Q7TRXW" in text
    assert "book_room(r4): error card_declined" in text
    assert "enable_roaming(L2): Roaming is on now." in text


def test_a_long_refusal_of_a_call_is_kept_beside_what_came_of_others() -> None:
    """An error says what came of a call however long it is, unlike the whole object that another returns."""
    long = {"error": "422 Validation Failed", "message": "Reviews may only be requested from collaborators, and " * 2}
    (fact,) = _read(called("request_reviewers", {"number": 4}, json.dumps(long))).of("identifier")
    (other,) = _read(
        called("request_reviewers", {"number": 4}, json.dumps({f"field{n}": "x " * 9 for n in range(9)}))
    ).of("identifier")

    assert fact.weight > other.weight


def test_an_answer_of_one_line_is_a_value_of_its_call() -> None:
    """An id of few digits that a tool returns by itself is kept with the call that asked for it."""
    (fact,) = _read(called("find_user_id_by_email", {"email": "a@b.c"}, "sara_doe_4")).of("identifier")

    assert (fact.text, fact.note) == ("sara_doe_4", "find_user_id_by_email(a@b.c)\t")


def test_steps_said_again_stand_once() -> None:
    """What is said at each page or attempt leaves room for the steps before."""
    run: list[Message] = []
    said = ["The sheet has hidden columns.", *(f"I scroll to row {row}." for row in range(20))]
    for at, step in enumerate(said):
        call, result = called("computer", {"action": "scroll", "at": at}, "ok", call_id=f"c{at}")
        run += [Message(role="assistant", parts=(*text_message("assistant", step).parts, *call.parts)), result]

    steps = [fact.text for fact in _read(run).of("activity")]

    assert steps == ["The sheet has hidden columns.", "I scroll to row 19."]


def test_a_sentence_that_begins_every_step_is_none() -> None:
    """What an agent is told to begin with says nothing; the sentence behind it is its step."""
    run: list[Message] = []
    for at, step in enumerate(["Order 148 is the kettle.", "The postcode is refused without a country."]):
        call, result = called("click", {"id": at}, "ok", call_id=f"c{at}")
        said = text_message("assistant", f"Let's think about this. {step}")
        run += [Message(role="assistant", parts=(*said.parts, *call.parts)), result]

    steps = [fact.text for fact in _read(run).of("activity")]

    assert steps[-1] == "The postcode is refused without a country."


def test_two_values_said_beside_a_call_are_a_finding() -> None:
    """They may stand nowhere else: a tide that was read off a page."""
    call, result = called("look", {"at": 4}, "ok")
    said = text_message("assistant", "High water is at 14:38 with 4.3 m above datum. I go on.")
    run = [Message(role="assistant", parts=(*said.parts, *call.parts)), result]

    assert [fact.text for fact in _read(run).of("decision")] == ["High water is at 14:38 with 4.3 m above datum."]


def test_a_view_says_what_was_done_by_tools() -> None:
    """The whole way, with a call of the provider in the middle of a long history."""
    run: list[dict[str, object]] = [{"role": "user", "content": "Turn roaming on, then check all lines."}]
    for at in range(30):
        name, result = ("enable_roaming", "Roaming is on now.") if at == 9 else ("get_line", "signal is fine\n" * 40)
        function = {"name": name, "arguments": json.dumps({"line": f"L{at}"})}
        run.append(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"c{at}", "type": "function", "function": function}],
            }
        )
        run.append({"role": "tool", "tool_call_id": f"c{at}", "content": result})

    shown = plimsoll.fit(run, max_tokens=600, model="gpt-4o").messages

    assert any("enable_roaming(L9): Roaming is on now." in str(message["content"]) for message in shown)


def test_a_first_page_makes_room_and_keeps_the_objective() -> None:
    """A browser's first page is no request that stays whole: its objective does, and the newest page is readable."""
    page = "\n".join(f"[{at}] StaticText 'Berth {at} must be booked'" for at in range(120))
    objective = "OBJECTIVE: Change the address of the kettle's order. Do not cancel any order."
    run: list[dict[str, object]] = []
    for at in range(14):
        seen = f"OBSERVATION:\nTab 0: page {at}\n{page}\n{objective}"
        run += [
            {"role": "user", "content": seen},
            {"role": "assistant", "content": f"The next action is ```click [{at}]```"},
        ]
    run.append({"role": "user", "content": f"OBSERVATION:\nYou saved the address.\n{page}\n{objective}"})

    shown = [str(message["content"]) for message in plimsoll.fit(run, max_tokens=1_800, model="gpt-4o").messages]

    assert "Do not cancel any order." in shown[0]
    assert "You saved the address." in shown[-1]
    assert len(shown[-1]) > len(shown[0])
    assert not any("User constraints" in text and "StaticText" in text for text in shown)


@pytest.mark.parametrize(
    ("tool", "field", "said"),
    [
        ("take_note", "text", "The quay of Rijswijk carries 73 t per metre, Meulen & Hoekstra 2021, p. 211."),
        ("create_comment", "body", "The old buoys stay until 3 March, because the harbour master wants both."),
        ("notiz", "inhalt_text", "Frau Vogl bekommt 15 Prozent Nachlass, das sind 58,35 EUR."),
        ("hand_over_to_human", "summary", "The guest of cabin 214 paid twice and wants 349 EUR back."),
    ],
)
def test_what_an_agent_writes_into_a_note_or_a_message_counts_as_said(tool: str, field: str, said: str) -> None:
    """The text of a note, a comment or a message is the agent's own, and is kept whole as its findings are."""
    run = [
        text_message("user", "Look after the harbour."),
        *called(tool, {"id": "60414", field: said}, "saved as 4417"),
    ]
    assert said in [fact.text for fact in _read(run).of("decision")]


@pytest.mark.parametrize(
    ("tool", "field", "text"),
    [
        ("web_search", "query", "the tide tables of the harbour of Rijswijk in 2021, because the old ones are wrong"),
        ("run_query", "text", "SELECT name, berth_id, draught_cm FROM ships WHERE berth_id = 4711 ORDER BY name"),
        ("search_notes", "text", "We decided on the east quay: the root cause of the leak is the seal of pump 7."),
        ("take_note", "text", "The fix is bolt 7 of pump 3."),
        ("create_file", "content", "The harbour of Rijswijk has 14 berths, which is because the 15th was closed."),
    ],
)
def test_what_an_agent_asks_or_puts_in_a_file_is_no_finding(tool: str, field: str, text: str) -> None:
    """Queries and a few words are no statements, and what stands in a file is there to be read."""
    arguments = {field: text, **({"path": "harbour.md"} if tool == "create_file" else {})}
    run = [text_message("user", "Look after the harbour."), *called(tool, arguments, "ok")]
    assert _read(run).of("decision") == ()
