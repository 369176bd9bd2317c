"""Values from tools: rows grouped by tool and columns, each with what it adds, also where the room is small."""

import json

import pytest
from summary_conversation import called

import plimsoll
from plimsoll.message import text_message
from plimsoll.summary.layout import grouped
from plimsoll.summary.ledger import Ledger, extend
from plimsoll.summary.room import bias_of
from plimsoll.summary.rules import render
from plimsoll.summary.values import items


def read(messages):
    """The ledger of these messages."""
    return extend(Ledger.empty(), messages, 0)


def order(number, *, payment="card_77123", flight="HA"):
    """A call for an order and its answer."""
    answer = {
        "user_id": "ana_li_2231",
        "legs": [
            {"leg_id": f"{flight}{number}01", "price": 60 + number},
            {"leg_id": f"{flight}{number}02", "price": 81},
        ],
        "paid": [{"payment_id": payment, "amount": 141 + number}],
    }
    return called("get_order", {"order_id": f"OR{number}X"}, json.dumps(answer), call_id=f"c{number}")


def ranked(messages):
    """The rows of values of these messages, best first."""
    ledger = read(messages)
    return items(ledger.of("identifier"), bias_of(None), ledger.end)


def test_rows_of_one_tool_share_a_heading_with_their_columns_and_equal_cells():
    """The columns, and a cell that is the same in all rows, are written once; each row says which call it is of."""
    rows = ranked([message for number in range(4) for message in order(number)])
    codes = [row for row in rows if row.text.startswith("leg_id")]

    text = grouped(codes)
    assert text.startswith("- get_order [leg_id; user_id ana_li_2231; payment_id card_77123]:")
    assert "  OR2X: HA201 HA202" in text


def test_codes_of_one_result_share_a_line(counter):
    """The codes of a result are chosen by column, and those that are shown are said in one place."""
    ledger = read(order(1, payment="card_1") + order(2, payment="card_2"))
    text = render(ledger, tokens_max=120, counter=counter).text

    assert "OR2X: user_id ana_li_2231, leg_id HA201 HA202, payment_id card_2" in text


def test_what_calls_have_not_yet_taken_of_a_list_comes_first():
    """An agent that has read two of the orders of a user needs the others next, whatever else those two returned."""
    user = {"orders": ["OR11X", "OR12X", "OR13X", "OR14X"], "cards": [{"id": "card_9"}]}
    listed = called("get_user", {"user_id": "ana_li_2231"}, json.dumps(user))
    rows = ranked([*listed, *order(11, payment="card_1"), *order(12, payment="card_2")])

    assert rows[0].text == "orders OR13X OR14X OR11X OR12X"


def test_equal_ids_in_different_objects_are_not_older_values():
    """One card pays two orders: neither amount replaces the other."""
    text = "\n".join(row.text for row in ranked([*order(1), *order(2)]))

    assert "142" in text
    assert "143" in text
    assert "was" not in text


def test_an_object_that_is_read_again_says_what_changed():
    """The same id in the same kind of row at the top of an answer is the same object."""
    states = [
        message
        for at, state in enumerate(("open", "shipped"))
        for message in called("get", {"at": "OR1X"}, json.dumps({"order_id": "OR1X", "state": state}), call_id=str(at))
    ]
    assert [row.text for row in ranked(states)] == ["order_id OR1X, state shipped (was open)"]


def test_a_row_comes_after_those_that_say_its_values_already():
    """Of two rows, the one whose values a row before it has comes last, though it is newer."""
    messages = [
        *called("old", {}, '{"ticket_id": "TK-1044", "host_id": "node-31"}', call_id="a"),
        *called("new", {}, '{"ticket_id": "TK-2088", "job_id": "job-77"}', call_id="b"),
        *called("newest", {}, '{"ticket": {"ticket_id": "TK-2088", "job_id": "job-77"}}', call_id="c"),
    ]
    assert [row.group for row in ranked(messages)] == ["new()", "old()", "newest()"]


def test_few_of_a_long_list_are_needed():
    """A page of search results is worth less than the two codes of an object, until calls take some of the results."""
    found = json.dumps([{"leg_id": f"HA{number}77"} for number in range(100, 120)])
    rows = ranked([*order(11, payment="card_1"), *called("search_legs", {"day": "May 3"}, found, call_id="s")])
    chosen = ranked(
        [
            *order(11, payment="card_1"),
            *called("search_legs", {"day": "May 3"}, found, call_id="s"),
            *called("get_leg", {"leg": "HA10177"}, '{"gate": "B31", "seats": [{"seat_id": "12F01"}]}', call_id="g"),
        ]
    )

    def place(rows):
        return next(at for at, row in enumerate(rows) if row.text.count("HA1") == 12)

    assert place(rows) > place(chosen)


def reading(tank, level, trace):
    """A reading of a tank, with the id that the server gives each answer."""
    answer = {
        "tank_id": tank,
        "level": level,
        "at": f"2031-05-0{level % 9 + 1}T04:00:00Z",
        "request": {"id": trace, "by": None},
    }
    return called("read_tank", {"tank": tank}, json.dumps(answer), call_id=trace)


def test_ids_of_answers_that_no_call_takes_come_after_what_the_answers_say():
    """Each answer has an id that nothing refers to: the levels come first, also where calls take the ids of another tool."""
    booked = called("book", {"what": "pump"}, '{"id": "bk77x1", "state": "held"}', call_id="b")
    freed = called("release", {"id": "bk77x1"}, '{"id": "bk77x1", "state": "free"}', call_id="f")
    read_ones = [m for at in range(40) for m in reading(f"tank_{at:02d}", 400 + at, f"rq{at:02d}ffe{at}")]
    texts = [row.text for row in ranked([*booked, *freed, *read_ones])]

    first = [text for text in texts if "| 4" in text or "rq" in text][:30]
    assert all("| 4" in text for text in first)


def test_when_a_value_was_read_before_is_not_told():
    """Of what changed, the old value is told, and not the time of day of the old reading."""
    rows = ranked([*reading("tank_1", 41, "rq1a77"), *reading("tank_1", 35, "rq2b88")])
    text = next(row.text for row in rows if "level 35" in row.text)

    assert "(was 41)" in text


def test_a_record_says_which_values_belong_together():
    """What was booked comes before more of the list it was chosen from, though its values are all known from that list."""
    hours = json.dumps([{"hour": f"2031-06-{day:02d}", "desk": f"D{day}40"} for day in range(10, 22)])
    other = json.dumps([{"hour": f"2031-07-{day:02d}", "desk": "none"} for day in range(10, 22)])
    messages = [
        *called("list_hours", {"hall": "north"}, hours, call_id="l"),
        *called("list_hours", {"hall": "south"}, other, call_id="m"),
        *called("take", {"desk": "D1240"}, '{"desk": "D1240", "hour": "2031-06-12", "state": "taken"}', call_id="t"),
    ]
    texts = [row.text for row in ranked(messages)]

    assert next(at for at, text in enumerate(texts) if "taken" in text) < len(texts) // 2


@pytest.mark.parametrize("tokens_max", [80, 110, 140])
def test_a_small_summary_of_a_run_has_values_beside_the_request(tokens_max, counter):
    """Where there is room for a line or two, one of them names what the tools returned."""
    messages = [
        text_message("user", "Please cancel the orders OR1X and OR2X for me, I cannot travel."),
        *order(1),
        *order(2),
    ]
    text = render(read(messages), tokens_max=tokens_max, counter=counter).text

    assert any(value in text for value in ("card_77123", "HA101", "HA201"))


def run(middle):
    """A run whose newest exchange has a large result, with `middle` inside it."""
    head = [{"role": "user", "content": "Look up my profile and book the same seat again."}]
    for number in range(8):
        step = {"id": f"s{number}", "type": "function", "function": {"name": "step", "arguments": "{}"}}
        explained = f"Step {number}: " + "the agent explains what it is about to do. " * 12
        head += [
            {"role": "assistant", "content": explained, "tool_calls": [step]},
            {"role": "tool", "tool_call_id": f"s{number}", "content": "done"},
        ]
    call = {"id": "c1", "type": "function", "function": {"name": "get_profile", "arguments": '{"user": "ana"}'}}
    content = {
        "notes": ["a remark on the customer without any value " * 6] * 12,
        "saved": middle,
        "more": ["x y z " * 80] * 4,
    }
    return [
        *head,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": json.dumps(content)},
    ]


def test_values_of_a_result_that_is_shown_cut_are_in_the_summary():
    """The newest result is cut to fit; the ids in what was cut out of it are in the view all the same."""
    saved = {"payment": {"payment_id": "card_9917342"}, "seat": {"seat_id": "S-4471A"}}
    messages = run(saved)
    view = plimsoll.fit(messages, max_tokens=420).messages
    shown = "\n".join(str(message.get("content")) for message in view if message["role"] != "tool")

    assert "card_9917342" in shown
    assert "S-4471A" in shown


def test_lines_of_one_result_stay_in_their_order(counter):
    """Whatever is worth most, a report is read from its beginning to its end, without what its program added."""
    report = (
        "The port `a_port` is 4410 on host-31.\nThe port again is `a_port`, 4410.\nThe lock file is `run/lock_77.pid`.\n"
        "<usage>total_tokens: 152263</usage>"
    )
    messages = [text_message("user", "Look around."), *called("Task", {"prompt": "look around"}, report)]
    text = render(read(messages), tokens_max=1_000, counter=counter).text

    values = text.partition("Values from tools")[2]
    assert values.index("host-31") < values.index("The port again") < values.index("lock_77")
    assert "152263" not in text


def test_a_report_names_places_without_line_numbers():
    """Later calls hardly read from the lines that a report names, and edits move them; addresses, times and other ranges stay."""
    report = (
        "`moor()` locks the berth (`quay/berth.py:343-370`).\n"
        "Step 1: `check()` (lines 36-41, 52-60)\n"
        "It fails in `lock.py` at lines 12 and 40 of it.\n"
        "`crane` listens on harbour.example:8080, shifts 6-14, line 7 of `plan.py`.\n"
        "The lock opens at 10:30-11:00 and 14:00–16:30."
    )
    found = [fact.text for fact in read(called("Task", {"prompt": "look"}, report)).of("identifier")]

    assert found == [
        "`moor()` locks the berth (`quay/berth.py`).",
        "Step 1: `check()`",
        "It fails in `lock.py` of it.",
        "`crane` listens on harbour.example:8080, shifts 6-14, line 7 of `plan.py`.",
        "The lock opens at 10:30-11:00 and 14:00–16:30.",
    ]


def test_steps_that_only_announce_a_look_are_left_out_but_for_the_newest(counter):
    """`Latest steps` says what was done; "now let me read" is shown only if nothing came after it."""
    steps = [
        "I moved the berth table.",
        "Now I read the quay file again.",
        "Let me look at the lock.",
        "Now update the callers.",
    ]
    messages = [text_message("user", "Tidy up the harbour.")]
    for at, step in enumerate(steps):
        messages += called("Read", {"file_path": f"/srv/q{at}.py"}, "1\tx", call_id=f"s{at}", text=step)
    shown = render(read(messages), tokens_max=1_000, counter=counter).text.partition("Latest steps")[2]

    assert "berth table" in shown
    assert "Now update the callers." in shown
    assert "quay file" not in shown
    assert "the lock" not in shown


@pytest.mark.parametrize(("tokens_max", "is_closed"), [(100, False), (130, True)])
def test_a_small_summary_of_a_run_has_values_instead_of_counts(tokens_max, is_closed, counter):
    """Where the frame says which messages are covered, how many are whose is less than a value; it comes back with room."""
    text = render(read([m for n in range(9) for m in order(n)]), tokens_max=tokens_max, counter=counter).text

    assert "payment_id" in text
    assert ("Messages (" in text) is is_closed


@pytest.mark.parametrize("tokens", range(4, 40, 4))
def test_a_summary_of_a_few_tokens_has_values_where_the_goal_is_shown(tokens, counter):
    """A later request repeats what the view is about; the order that a tool named is known from nowhere else.

    Where none of the values fits, a heading does not take the place of the request.
    """
    ledger = read([text_message("user", "So please be so kind and look at them."), *order(7)])
    shown = render(ledger, tokens_max=tokens, counter=counter, goal_is_shown=True)
    alone = render(ledger, tokens_max=tokens, counter=counter)

    assert shown.tokens <= tokens
    heading, _, row = shown.text.partition(": ")
    words = {word.strip(",") for word in row.split()}
    has_values = heading == "get_order(OR7X)" and not words.isdisjoint({"ana_li_2231", "HA701", "HA702", "card_77123"})
    assert has_values or (tokens < 12 and shown.text == alone.text)
    assert words <= {"user_id", "ana_li_2231", "leg_id", "HA701", "HA702", "payment_id", "card_77123"}
    assert alone.text.startswith("So please")


def test_the_fields_of_an_object_in_another_are_told_with_its_id():
    """A berth whose details are an object of their own: what is told of them says of which berth."""
    berths = [
        {
            "berth_id": f"B-{at}7",
            "details": {
                "boat": f"Nora {at}",
                "length": 7 + at,
                "draught": 2,
                "paid": at % 2 > 0,
                "until": f"2031-0{at}-01",
            },
        }
        for at in range(2, 6)
    ]
    rows = ranked(called("list_berths", {"pier": "west"}, json.dumps({"berths": berths})))
    nora = next(row for row in rows if "Nora 4" in row.text)

    assert nora.text.startswith("B-47 | Nora 4") or "berth_id B-47" in nora.text


def test_calls_that_are_alike_where_their_names_are_cut_are_told_apart():
    """Two queries that differ in their last words: whose row is whose is told by the number of the message."""
    query = "select ward, count(*) as beds, max(age) as oldest from stays where day between "
    first = called("query", {"q": f"{query}'2031-01-01' and '2031-01-31'"}, "ward | beds\nW-1044 | 318840", call_id="a")
    second = called(
        "query", {"q": f"{query}'2031-02-01' and '2031-02-28'"}, "ward | beds\nW-1044 | 297115", call_id="b"
    )
    groups = {row.text: row.group for row in ranked([*first, *second])}

    assert groups["ward | beds; W-1044 | 318840"].endswith("…) m1")
    assert groups["ward | beds; W-1044 | 297115"].endswith("…) m3")
    alone = {row.text: row.group for row in ranked(first)}
    assert alone["ward | beds; W-1044 | 318840"].endswith("…)")


def test_a_yes_or_no_is_no_id():
    """`paid` ends like the name of an id: two tickets that are not paid are two tickets."""
    rows = ranked(
        called(
            "tickets", {"row": "G"}, json.dumps([{"seat": f"G{at}1", "paid": False, "left": 90 + at} for at in (1, 2)])
        )
    )
    text = "\n".join(row.text for row in rows)

    assert "G11" in text
    assert "G21" in text
    assert "was" not in text


def test_codes_that_all_calls_returned_are_told_once_for_each_call():
    """Three looks at one list: its codes stand behind each look, and not in the heading again."""
    queue = json.dumps([{"job_id": f"jb{at}77", "state": "waits"} for at in range(4)])
    looks = [m for at in range(3) for m in called("queue", {"page": at + 10}, queue, call_id=f"q{at}")]
    text = grouped([row for row in ranked(looks) if "jb077" in row.text])

    assert "jb077" not in text.split("\n")[0].partition("]")[0]


def test_lines_of_output_leave_room_for_what_the_assistant_found(counter):
    """What a program printed is rarely asked for; what it meant is. Both kinds of values stand under one title."""
    messages = [text_message("user", "Find out why the import is slow.")]
    for n in range(12):
        listed = "\n".join(f"module{n}{k}abc compiled 77{n}{k}ab31" for k in range(6))
        messages += called("Bash", {"command": f"python build_{n}.py"}, listed, call_id=f"b{n}")
        messages.append(text_message("assistant", f"The cause of stall {n} is that queue {n}00 waits for lock K{n}7."))
    text = render(read(messages + order(1)), tokens_max=400, counter=counter).text
    printed = sum(" compiled " in line for line in text.split("\n"))

    assert text.count("The cause of stall") > printed > 0
    assert text.count("Values from tools") == 1
    assert "leg_id HA101 HA102" in text
