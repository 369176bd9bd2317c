"""A summary says what it knows once, and has room for what it would otherwise leave out."""

import pytest
from summary_conversation import called

from plimsoll.message import text_message
from plimsoll.summary.folders import stem_of
from plimsoll.summary.ledger import Ledger, extend
from plimsoll.summary.rules import render


def read(messages):
    """The ledger of these messages."""
    return extend(Ledger.empty(), messages, 0)


def test_a_line_that_is_an_error_is_not_a_value_as_well(counter):
    """What a compiler says is shown once, among the errors."""
    said = "src/pump.ts(88,51): error TS2353: 'rimWidth' does not exist in type 'PumpTheme'. (id 7731)"
    text = render(read(called("Bash", {"command": "npx tsc"}, said)), tokens_max=600, counter=counter).text

    assert "Errors seen (tool output):\n- src/pump.ts(88,51)" in text
    assert "Left out" not in text
    assert "Values from tools" not in text


def test_more_errors_of_a_result_than_are_shown_are_no_values(counter):
    """They repeat the cause. What else the program printed stays, and so does an error in a text that was only read."""
    errors = "\n".join(
        f"src/pump.ts({n},51): error TS2353: 'rimWidth{n}' does not exist (id 77{n})" for n in range(70, 90)
    )
    messages = called("Bash", {"command": "npx tsc"}, f"{errors}\nWritten: build_8841f2\nexit code 2", call_id="c1")
    log = "ERROR order ORD-99213 has no price\n" + "all is well\n" * 200
    messages += called("Bash", {"command": "cat app.log"}, log, call_id="c2")
    text = render(read(messages), tokens_max=2_000, counter=counter).text
    values = text.partition("Values from tools")[2]

    assert "src/pump.ts(70,51)" in text
    assert "src/pump.ts" not in values
    assert "build_8841f2" in values
    assert "ORD-99213" in values


def test_what_only_a_program_reads_of_a_diff_is_no_value(counter):
    """The commit is one."""
    said = (
        "commit 7c3d9e1f4a\ndiff --git a/x.py b/x.py\nindex e3b07c2..8672927 100644\n@@ -120,7 +120,9 @@ def crane():\n"
    )
    text = render(read(called("Bash", {"command": "git show"}, said)), tokens_max=600, counter=counter).text

    assert "7c3d9e1f4a" in text
    assert "e3b07c2" not in text
    assert "@@ -120" not in text


def test_an_object_that_a_command_returned_is_told_by_its_values_alone(counter):
    """The command stays, without the start of the object as its outcome."""
    said = '{"number": 158231, "headRefName": "mend/pump-4471", "id": "PR_7731ab"}'
    text = render(read(called("Bash", {"command": "gh pr view"}, said)), tokens_max=600, counter=counter).text

    assert "- gh pr view\n" in text
    assert text.count("158231") == 1


def test_a_command_that_is_the_label_of_its_values_gives_way_to_others(counter):
    """Its values say that it ran; another command is said nowhere else."""
    messages = [text_message("user", "Look at the stores.")]
    for n in range(16):
        listed = f"store_{n}7731 = 10.20.30.{n}4\nport: 84{n}3\n" + "so it is\n" * 200
        messages += called("Bash", {"command": f"cat /etc/stores/{n}.conf"}, listed, call_id=f"a{n}")
        messages += called("Bash", {"command": f"systemctl restart store-{n}.service"}, "", call_id=f"b{n}")
    text = render(read(messages), tokens_max=260, counter=counter).text
    commands = text.partition("Commands run:\n")[2].partition(":\n")[0]

    assert "10.20.30." in text
    assert commands.count("systemctl") > commands.count("cat ")


def test_the_stamp_that_every_result_has_is_no_value(counter):
    """What runs the programs prints it; the same line of one program, about what that made, is a value."""
    messages = []
    for n, program in enumerate(("sed -n 1p a.txt", "wc -l a.txt", "rg -n pump", "cat b.txt", "python order.py")):
        messages += called("Bash", {"command": program}, f"Chunk ID: 4bd{n}6f\nIt is the old crane.", call_id=f"c{n}")
        messages += called("Bash", {"command": f"python order.py {n}"}, f"Booked: BKD{n}88y", call_id=f"d{n}")
    text = render(read(messages), tokens_max=900, counter=counter).text

    assert "Chunk ID" not in text
    assert "Booked: BKD488y" in text.partition("Values from tools")[2]


def test_the_last_line_of_a_text_is_no_outcome(counter):
    """Times of subtitles have an arrow of their own."""
    said = "Not yet.\n00:07:33.204 --> 00:07:35.118\nIn the bay, the old crane."
    text = render(read(called("Bash", {"command": "sed -n 1,9p talk.vtt"}, said)), tokens_max=600, counter=counter).text

    assert "-->" not in text


@pytest.mark.parametrize(
    ("path", "stem"),
    [
        ("src/pump.ts", "pump"),
        ("test/pump.test.ts", "pump"),
        ("pump_test.go", "pump"),
        ("tests/test_pump.py", "pump"),
        ("java/PumpTest.java", "Pump"),
        ("contest.py", "contest"),
        ("Makefile", "Makefile"),
        (".gitignore", ".gitignore"),
        ("", ""),
    ],
)
def test_a_file_and_its_test_have_one_stem(path, stem):
    """By the common ways to name tests."""
    assert stem_of(path) == stem


def test_the_test_of_a_changed_file_comes_before_other_files(counter):
    """Of many files that a search listed, that is the one which is opened next."""
    listed = "\n".join(f"lib/part{n}/module_{n}_test.go" for n in range(40))
    messages = called("Edit", {"file_path": "src/pump.go", "new_string": "x"}, "ok", call_id="a")
    messages += called("Grep", {"pattern": "x"}, f"{listed}\nsuite/pump_test.go", call_id="b")
    text = render(read(messages), tokens_max=110, counter=counter).text

    assert "pump_test.go" in text
    assert "module_39" not in text
