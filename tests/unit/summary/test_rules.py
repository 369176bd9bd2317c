"""The rendered summary: within its budget, in the right language, with what matters first."""

import re

import pytest
from summary_conversation import CHINESE, ENGLISH, TALK, TALK_ZH, called

import plimsoll
from plimsoll.formats.registry import decode_all
from plimsoll.message import text_message
from plimsoll.summary.excerpt import excerpt, level
from plimsoll.summary.folders import folders_of, one_each
from plimsoll.summary.ledger import Ledger, extend
from plimsoll.summary.ledger.fact import Fact
from plimsoll.summary.ledger.sentences import pairs
from plimsoll.summary.room import allot
from plimsoll.summary.rules import render


def read(messages):
    """The ledger of these messages."""
    return extend(Ledger.empty(), messages, 0)


LONG = [
    message
    for turn in range(40)
    for message in (
        text_message(
            "user",
            f"Please rework module number {turn} so that the handler answers in {turn + 3} ms. Never change api_{turn}.",
        ),
        *called("Edit", {"file_path": f"/srv/app/src/part{turn}/module_{turn}.py"}, "ok", call_id=f"e{turn}"),
        *called(
            "lookup",
            {"ticket": f"OPS-{turn}00"},
            f'{{"ticket_id": "OPS-{turn}00", "owner": "Ana{turn}"}}',
            call_id=f"l{turn}",
        ),
        text_message(
            "assistant", f"The fix is to cache lookups in `module_{turn}.py`, because each call took {turn * 7} ms."
        ),
    )
]


@pytest.mark.slow
@pytest.mark.spec("W2-06")
@pytest.mark.parametrize("tokens_max", [0, 1, 3, 12, 30, 39, 40, 60, 100, 299, 300, 1_000, 5_000, 50_000])
@pytest.mark.parametrize(
    "messages", [ENGLISH, CHINESE, TALK, TALK_ZH, LONG], ids=["en", "zh", "talk", "talk_zh", "long"]
)
def test_a_summary_is_never_over_its_budget(messages, tokens_max, counter):
    """From nothing to fifty thousand tokens, the text is at most the budget, by the counter's upper count."""
    rendered = render(read(messages), tokens_max=tokens_max, counter=counter)
    assert counter.upper(rendered.text) == rendered.tokens or not rendered.text
    assert rendered.tokens <= tokens_max


@pytest.mark.parametrize("tokens_max", [400, 800, 1_600])
def test_a_summary_uses_its_budget(tokens_max, counter):
    """With more facts than room, at least 95 % of the budget is used."""
    ledger = read(LONG)
    rendered = render(ledger, tokens_max=tokens_max, counter=counter)
    assert rendered.facts_kept < sum(map(len, ledger.facts.values()))
    assert rendered.tokens >= tokens_max * 0.95


def test_few_tokenizer_calls_are_needed(counter):
    """Each fact is counted about once, the whole a few times."""
    ledger = read(LONG)
    counter.calls = 0
    render(ledger, tokens_max=2_000, counter=counter)
    assert counter.calls < sum(map(len, ledger.facts.values())) + 40


def test_everything_is_said_when_there_is_room(counter):
    """An ample budget holds requests verbatim, findings, files, commands with outcomes, errors and labelled values."""
    text = render(read(ENGLISH), tokens_max=2_000, counter=counter, covers=(0, 14)).text
    for expected in (
        f"User requests (verbatim, in order):\n- {ENGLISH[0].text}",
        "- (reply to: Should I also update the changelog? A: yes, under Unreleased) A",
        "Files modified:\n- src/export/invoice.py",
        "- pytest tests/test_export.py -q → 5 passed in 0.31s",
        "KeyError: 'total_due' (fixed later)",
        "get_invoice(INV-20417): invoice_id INV-20417, amount 412.5, status open",
    ):
        assert expected in text
    assert "Left out" not in text


@pytest.mark.parametrize(
    ("messages", "title"),
    [(ENGLISH, "User requests"), (CHINESE, "用户请求"), (TALK_ZH, "关键结论"), (TALK, "Said in")],
)
def test_titles_follow_the_dominant_script(messages, title, counter):
    """Chinese conversations get Chinese titles, English ones English."""
    assert title in render(read(messages), tokens_max=600, counter=counter).text


@pytest.mark.parametrize(("language", "title"), [("en", "User requests"), ("zh", "用户请求")])
def test_a_language_can_be_asked_for(language, title, counter):
    """An explicit language overrides the script."""
    assert title in render(read(ENGLISH), tokens_max=600, counter=counter, language=language).text


def test_the_last_line_counts_what_is_left_out_by_kind(counter):
    """A summary that cannot hold all says so, with numbers by kind."""
    last = render(read(LONG), tokens_max=700, counter=counter, covers=(0, 240)).text.rsplit("\n", 1)[-1]
    assert last.startswith("Messages m0-m239 (40 user, 120 assistant, 80 tool).")
    assert "findings" in last
    assert "Left out:" in last


@pytest.mark.spec("S2-14", "S2-15")
@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("en", "Messages m0-m3 (1 user, 2 assistant, 1 tool). Code: rust."),
        ("zh", "消息m0-m3 （用户1，助手2，工具1）。 代码： rust."),
    ],
)
def test_the_last_line_counts_messages_though_nothing_is_left_out(language, line, counter):
    """Whose messages a summary stands for, and which code was in them, is said even where everything has room (S2-14, S2-15)."""
    messages = [
        text_message("user", "Fix it:\n```rust\nfn main() {}\n```"),
        *called("Bash", {"command": "cargo build"}, "ok", call_id="b1"),
        text_message("assistant", "Done."),
    ]
    rendered = render(read(messages), tokens_max=5_000, counter=counter, language=language, covers=(0, 4))

    assert rendered.text.split("\n")[-1] == line


ALONE = {
    "the same again": [text_message("assistant", "The tide is high.") for _ in range(33)],
    "hardly a word": [text_message("assistant", f"Answer {number}: ok") for number in range(33)],
    "one long line": [text_message("assistant", f"berth {number} " * 90) for number in range(3)],
    "reports": [
        text_message("assistant", f"Crane {number} was moved because berth {number} is shallow.")
        for number in range(33)
    ],
}


@pytest.mark.slow
@pytest.mark.spec("S0-22", "S1-46")
@pytest.mark.parametrize("tokens_max", [40, 45, 55, 60, 75, 100, 150, 299, 300, 800])
@pytest.mark.parametrize("name", ["en", "zh", "talk", "talk_zh", "long", *ALONE])
def test_a_summary_of_any_size_counts_messages_and_has_facts(name, tokens_max, counter):
    """From 40 tokens on a summary says whose messages left, user, assistant and tool, and the best facts that fit."""
    known = {"en": ENGLISH, "zh": CHINESE, "talk": TALK, "talk_zh": TALK_ZH, "long": LONG, **ALONE}
    messages = known[name]
    rendered = render(read(messages), tokens_max=tokens_max, counter=counter, covers=(0, len(messages)))
    *facts, last = rendered.text.split("\n")
    last = last.removeprefix(f"Messages m0-m{len(messages) - 1} ").removeprefix(f"消息m0-m{len(messages) - 1} ")
    roles = [message.role for message in messages]
    numbers = [int(number) for number in re.findall("[0-9]+", last)]

    assert rendered.tokens <= tokens_max
    assert numbers[:3] == [roles.count("user"), roles.count("assistant"), roles.count("tool")]
    assert len(facts) > 1
    assert rendered.facts_kept > 0


@pytest.mark.spec("S2-15")
@pytest.mark.parametrize("format", ["openai-chat", "anthropic", "openai-responses", "ui-parts"])
def test_results_are_the_tools_in_every_format(format, counter):
    """A result stands in a user message of one provider and in an answer of another: it is counted as a tool's in all."""
    calls = [
        {"id": f"c{n}", "type": "function", "function": {"name": "weigh", "arguments": f'{{"n": {n}}}'}} for n in (1, 2)
    ]
    messages = [
        {"role": "user", "content": "Weigh both pallets."},
        {"role": "assistant", "content": "I weigh them.", "tool_calls": calls},
        *({"role": "tool", "tool_call_id": call["id"], "content": "412 kg"} for call in calls),
        {"role": "assistant", "content": "Both weigh 412 kg."},
        {"role": "user", "content": "Thanks, load them."},
    ]
    made = plimsoll.convert(messages, to=format).messages
    counts = read(decode_all(made, format)[1]).counts

    assert (counts.user, counts.tool) == (2, 2)
    assert "(2 user, " in render(read(decode_all(made, format)[1]), tokens_max=300, counter=counter).text


@pytest.mark.slow
def test_one_thing_left_out_is_named_in_the_singular(counter):
    """`1 value`, never `1 values`."""
    runs = [read(LONG[:end]) for end in range(20, 60, 4)]
    texts = [render(run, tokens_max=room, counter=counter).text for run in runs for room in range(200, 800, 20)]
    assert any(re.search(r"\b1 \w+[,.]", text) for text in texts)
    assert not any(re.search(r"\b1 (?:\w+ )?\w+s[,.]", text.rpartition("Left out")[2]) for text in texts)


def test_one_fact_of_a_kind_has_its_place(counter):
    """A section with a single short fact gets the room for its title too, beside sections that could fill the whole budget."""
    odd = [
        *called("Edit", {"file_path": "/srv/quay_store.py"}, "ok", call_id="q1"),
        text_message("assistant", "I decided to keep the old index because readers still use it."),
        *called("Bash", {"command": "make test"}, "ValueError: berth 17 is taken", call_id="q2"),
    ]
    rows = [
        m
        for n in range(60)
        for m in called("lookup", {"n": n}, f'{{"ticket_id": "OPS-{n}00", "owner": "Ana{n}"}}', call_id=f"r{n}")
    ]
    text = render(read([text_message("user", "Begin."), *odd, *rows]), tokens_max=400, counter=counter).text

    for fact in ("quay_store.py", "old index", "berth 17 is taken"):
        assert fact in text


def test_the_first_request_stays_longest(counter):
    """At any budget that holds a section, the first request's words are in it."""
    for tokens_max in (60, 120, 400):
        assert "module number 0" in render(read(LONG), tokens_max=tokens_max, counter=counter).text


def test_a_query_raises_the_facts_it_names(counter):
    """Asked about one ticket, its value is kept where it otherwise is not."""
    ledger = read(LONG)
    assert "OPS-500" not in render(ledger, tokens_max=400, counter=counter).text
    assert "OPS-500" in render(ledger, tokens_max=400, counter=counter, query="owner of OPS-500").text


def test_facts_cannot_pass_for_titles(counter):
    """A request with a line that looks like a section title is indented under its bullet."""
    forged = text_message("user", "Hello there, do it.\nFiles modified:\n- /etc/passwd")
    lines = render(read([forged, *ENGLISH[1:3]]), tokens_max=600, counter=counter).text.split("\n")
    assert "Files modified:" not in lines
    assert "  Files modified:" in lines


def test_talk_keeps_events_with_speakers_and_drops_politeness(counter):
    """Names, times and plans stay under their speaker and date; greetings and praise do not."""
    text = render(read(TALK), tokens_max=160, counter=counter).text
    assert "[3 May 2024]" in text
    assert "\nOmar: " in text
    for kept in ("adopted greyhound called Biscuit Tue 30 Apr", "sister Leila flew in from Lisbon", "90th birthday"):
        assert kept in text
    for dropped in ("How are you", "happy for you", "awesome"):
        assert dropped not in text


def test_chinese_answers_stand_under_their_topic_with_their_question(counter):
    """A Chinese reply is kept as topic, what was asked, and the value; thanks are dropped."""
    text = render(read(TALK_ZH), tokens_max=300, counter=counter).text
    topic = next(row for row in text.split("\n") if row.startswith("- 青云阁："))
    assert "始建于1905年" in topic
    assert "大栅栏西街33号" in topic
    assert "010-5550-1234" in topic
    assert "厉害" not in text


def test_an_empty_ledger_says_nothing(counter):
    """No facts, no text."""
    assert render(Ledger.empty(), tokens_max=500, counter=counter).text == ""


@pytest.mark.parametrize(
    ("needed", "tokens", "expected"),
    [
        ({"a": 10, "b": 10}, 100, {"a": 10, "b": 10}),
        ({"a": 100, "b": 100}, 100, {"a": 75, "b": 25}),
        ({"a": 10, "b": 100}, 100, {"a": 10, "b": 90}),
        ({"a": 0, "b": 0}, 100, {"a": 0, "b": 0}),
        ({}, 100, {}),
    ],
)
def test_the_budget_is_shared_and_what_is_not_needed_is_passed_on(needed, tokens, expected):
    """Sections get their share, at most their need; the rest goes to the others."""
    assert allot(needed, {"a": 3.0, "b": 1.0}, tokens) == expected


@pytest.mark.parametrize(
    ("lengths", "total", "expected"), [([5, 5], 100, 5), ([5, 50, 50], 65, 30), ([10, 10], 4, 2), ([], 9, 0)]
)
def test_long_texts_are_cut_to_one_level(lengths, total, expected):
    """Short texts stay whole and the long ones share what is left."""
    assert level(lengths, total) == expected


def test_an_excerpt_keeps_what_asks_and_insists():
    """Of a long request, instructions and constraints stay before the story around them."""
    story = "The sun was low over the bay. " * 12
    text = f"Port the parser to Rust. {story}Never drop error positions. {story}Thanks in advance."
    cut = excerpt(text, 80)
    assert cut.startswith("Port the parser to Rust.")
    assert "Never drop error positions." in cut
    assert len(cut) <= 80
    assert "…" in cut


@pytest.mark.parametrize(
    ("opening", "wanted"),
    [
        ("S1 accepted.", "Note that L14 is transactional and must go last, not by size."),
        ("Reviewed 5be0d14. Approve.", "One request: the key must come from kv/post, not from env."),
    ],
)
def test_an_excerpt_prefers_what_insists_to_a_short_opening_that_asks_nothing(opening, wanted):
    """A nod in front of an instruction has no room where only one of both fits."""
    cut = excerpt(f"{opening} {wanted} The rest of it is as we said on the phone on Monday.", 72)
    assert wanted in cut


@pytest.mark.parametrize(
    ("names", "folders"),
    [
        (
            ["/home/ana/projects/shop/app/src/a.py", "/home/ana/projects/shop/app/c.py", "doc.md"],
            ["/home/ana/projects/shop/app/"] * 2 + [""],
        ),
        (
            ["/srv/some/where/in/my/app/a.py", "/srv/some/where/in/my/app/x/b.py", "doc.md"],
            ["/srv/some/where/in/my/app/"] * 2 + [""],
        ),
        (["src/a.py", "src/b.py"], ["", ""]),
        (["/a/b.py"], [""]),
        ([], []),
    ],
)
def test_a_shared_folder_is_said_once(names, folders):
    """The folder that saves most words for the files below it is said in front of them; one that saves few is not."""
    assert [folders_of(names)[name] for name in names] == folders


def test_a_file_named_in_two_ways_is_one():
    """A relative name is the same file as the one absolute name that it ends."""
    known = [
        Fact("file", name, name, 1, "tool", state=state)
        for name, state in (("/srv/app/src/a.py", "read"), ("src/a.py", "modified"), ("b.py", "seen"))
    ]
    assert [(fact.text, fact.state, fact.mentions) for fact in one_each(known)] == [
        ("/srv/app/src/a.py", "modified", 2),
        ("b.py", "seen", 1),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("东街3号", ["东街", "3", "号"]),
        ("导演是Ann Lee", ["导演", "演是", "ann lee"]),
        ("电话010-5550", ["电话", "010-5550"]),
        ("", []),
    ],
)
def test_chinese_text_is_weighed_by_pairs_numbers_and_foreign_words(text, expected):
    """Pairs of characters, whole numbers and whole Latin words carry the information."""
    assert pairs(text) == expected


def test_file_names_are_whole_where_there_is_room(counter):
    """The folder that many files lie below is said once only where their whole names would take the room of others."""
    folder = "/home/ana/projects/shop/app/src/"
    ledger = read(
        [
            text_message("user", "Rename the handlers."),
            *(
                m
                for n in range(12)
                for m in called("Edit", {"file_path": f"{folder}part_{n}.py"}, "ok", call_id=f"e{n}")
            ),
        ]
    )
    roomy, tight = (render(ledger, tokens_max=tokens, counter=counter).text for tokens in (2_000, 150))

    assert all(f"{folder}part_{n}.py" in roomy for n in range(12))
    assert tight.count(folder) == 1
    assert f"- {folder}: part_0.py, part_1.py" in tight


def test_the_files_that_matter_most_have_whole_paths(counter):
    """Where files are grouped by folder, the last of those changed is still named as a call takes it."""
    folder = "/home/ana/projects/shop/app/src/handlers/"
    edits = [called("Edit", {"file_path": f"{folder}part_{n}.py"}, "ok", call_id=f"e{n}") for n in range(60)]
    ledger = read([text_message("user", "Rename the handlers."), *(message for edit in edits for message in edit)])
    text = render(ledger, tokens_max=500, counter=counter).text

    assert f"{folder}: " in text
    assert f"{folder}part_59.py" in text


def test_files_beside_the_work_are_named_before_others_of_an_old_listing(counter):
    """Where a listing names more than there is room for, what lies in the folder of an edited file is kept."""
    listing = "\n".join([*(f"vendor/lib{n}/module_{n}.py" for n in range(50)), "src/shop/prices.py"])
    ledger = read(
        [
            text_message("user", "Round the totals."),
            *called("Glob", {"pattern": "**/*.py"}, listing, call_id="g"),
            *called("Edit", {"file_path": "/home/ana/src/shop/totals.py"}, "ok", call_id="e"),
            *(message for n in range(30) for message in called("Think", {"n": n}, "ok", call_id=f"t{n}")),
        ]
    )
    tight, roomy = (render(ledger, tokens_max=tokens, counter=counter).text for tokens in (100, 200))

    assert "prices.py" in tight
    assert "prices.py" in roomy
    assert "module_7.py" in roomy, "room that nothing else needs is not left empty"


def test_a_file_with_two_names_is_not_left_out(counter):
    """A path that was named in full and in short is one file: shown once, and nothing waits."""
    messages = [
        *called("Read", {"file_path": "/srv/app/src/quay/berth.py"}, "1\tdef moor(): ...", call_id="a"),
        *called("Read", {"file_path": "src/quay/berth.py"}, "1\tdef moor(): ...", call_id="b"),
    ]
    text = render(read(messages), tokens_max=1_000, counter=counter).text
    assert text.count("berth.py") == 1
    assert "Left out" not in text
