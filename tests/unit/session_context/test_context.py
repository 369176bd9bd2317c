"""Context layers: recorded once a session and again when something has changed, and there after resuming."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import plimsoll
from plimsoll.errors import SettingError
from plimsoll.limits import ACTIVITY_CALLS_MAX, ACTIVITY_TOPICS_MAX
from plimsoll.store.memory import InMemoryStore

STORES = ("lines", "sqlite", "memory")
MINE: dict[str, Any] = {
    "user_id": "u-7",
    "preferences": {"language": "荷", "deep": {"list": [1, None, 2.5]}},
    "configuration": {"mode": "auto"},
}


def store_of(kind: str, place: Path) -> Any:
    """A store that later openings find again."""
    return {"lines": str(place / "s"), "sqlite": f"sqlite:///{place / 's.db'}", "memory": InMemoryStore()}[kind]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a repository and a manifest."""
    place = tmp_path / "project"
    (place / ".git").mkdir(parents=True)
    (place / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (place / "package.json").write_text('{"name": "tide", "version": "2"}')
    return place


def kinds(session: plimsoll.Session) -> list[str]:
    """The notes about context that the log holds."""
    return [note["what"] for note in session.notes("context")]


@pytest.mark.spec("S1-04", "S1-06", "S1-09", "S1-32", "S1-55")
@pytest.mark.spec("W1-25")
@pytest.mark.parametrize("kind", STORES)
def test_kept_after_resuming(tmp_path: Path, project: Path, kind: str) -> None:
    """What a session was given is there after resuming, whole, and nothing is written when nothing has changed (W1-25)."""
    store = store_of(kind, tmp_path)
    with plimsoll.open("a", store=store, project=project, title="Tides", model="gpt-4", **MINE) as session:
        session.extend([{"role": "user", "content": "Mend the crane."}], times_ms=[86_400_000])
        first = session.context()
    with plimsoll.open("a", store=store) as session:
        again = session.context()
        assert kinds(session) == []

    assert again == first
    assert (again.conversation.messages, again.conversation.topics) == (1, ("Mend the crane.",))
    assert again.conversation.last_activity_ms == again.metadata.last_updated_ms == 86_400_000
    assert (again.session.title, again.session.model) == ("Tides", "gpt-4")
    assert (again.session.session_id, again.session.user_id) == ("a", "u-7")
    assert again.session.preferences == MINE["preferences"]
    assert again.session.configuration == MINE["configuration"]
    assert again.session.start_ms is not None
    assert abs(again.session.start_ms / 1000 - time.time()) < 60
    assert again.system is not None
    assert again.workspace is not None
    assert (again.workspace.project_path, again.workspace.git_branch) == (str(project), "main")
    assert again.workspace.package is not None
    assert (again.workspace.package.name, again.workspace.package.version) == ("tide", "2")


def test_recorded_again_when_changed(tmp_path: Path, project: Path) -> None:
    """Another branch is recorded when the session is next opened, once, and the rest stays as it was."""
    store = str(tmp_path / "s")
    plimsoll.open("a", store=store, project=project, **MINE).close()
    (project / ".git" / "HEAD").write_text("ref: refs/heads/side\n")
    for _ in range(2):
        with plimsoll.open("a", store=store) as session:
            found = session.context()
            assert found.workspace is not None
            assert (found.workspace.git_branch, found.session.user_id) == ("side", "u-7")
            assert kinds(session) == ["context"]
    with plimsoll.open("a", store=store, user_id="u-8") as session:
        assert (session.context().session.user_id, len(kinds(session))) == ("u-8", 2)


@pytest.mark.spec("S1-29")
@pytest.mark.spec("W1-30")
@pytest.mark.parametrize("kind", STORES)
def test_a_detached_head_is_no_branch(tmp_path: Path, project: Path, kind: str) -> None:
    """Without a branch the commit is kept in its place, also in the log and in exports; with one again, the branch (W1-30)."""
    store = store_of(kind, tmp_path)
    (project / ".git" / "HEAD").write_text("0123456789abcdef0123456789abcdef01234567\n")
    plimsoll.open("a", store=store, project=project).close()
    with plimsoll.open("a", store=store) as session:
        found = session.context().workspace
        session.append({"role": "user", "content": "hello"})
        lines = session.export(to="claude-code").lines
    assert found is not None
    assert (found.git_branch, found.git_detached_at) == (None, "0123456")
    assert json.loads(lines[-1])["gitBranch"] == ""

    (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    with plimsoll.open("a", store=store) as session:
        found = session.context().workspace
    assert found is not None
    assert (found.git_branch, found.git_detached_at) == ("main", None)


SEEN: list[str] = []
STARTING = ("subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system")


@pytest.mark.spec("W1-30")
def test_no_message_asks_the_project(tmp_path: Path, project: Path) -> None:
    """Once a session is open, nothing it does runs a program or looks at the project again, whatever happens to that (W1-30)."""
    watched: list[str] = []

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if watched and (event in STARTING or any(watched[0] in str(argument) for argument in arguments)):
            SEEN.append(event)

    sys.addaudithook(watch)
    with plimsoll.open("a", store=str(tmp_path / "s"), project=project, max_tokens=2_000) as session:
        watched.append(str(project))
        (project / ".git" / "HEAD").rename(project / ".git" / "gone")  # this the watch sees
        fill(session)
        session.view()
        session.compact()
        found = session.context().workspace
        watched.clear()

    assert SEEN == ["os.rename"]
    assert found is not None
    assert found.git_branch == "main"


@pytest.mark.slow
@pytest.mark.parametrize("kind", STORES)
def test_found_behind_compactions(tmp_path: Path, project: Path, kind: str) -> None:
    """A change recorded before a compaction or a rollback is found by whoever opens the session after it."""
    store = store_of(kind, tmp_path)
    plimsoll.open("a", store=store, project=project, max_tokens=2_000, user_id="u-7").close()
    with plimsoll.open("a", store=store, user_id="u-8") as session:
        fill(session)
        session.compact()
    with plimsoll.open("a", store=store) as session:
        assert (session.context().session.user_id, len(kinds(session))) == ("u-8", 1)
        session.rollback()
    with plimsoll.open("a", store=store) as session:
        assert (session.context().session.user_id, len(kinds(session))) == ("u-8", 1)


def fill(session: plimsoll.Session) -> None:
    """Enough to compact."""
    for number in range(12):
        session.append({"role": "user", "content": f"request {number}: " + "look at the hold again " * 12})
        session.append({"role": "assistant", "content": f"answer {number}: " + "the crane has cleared it " * 12})


def test_without_project(tmp_path: Path) -> None:
    """`project=False` records nothing about any project or the computer, and leaves what was recorded."""
    store = str(tmp_path / "s")
    with plimsoll.open("a", store=store, project=False) as session:
        assert session.context().workspace is None
        assert session.context().system is None
    with plimsoll.open("b", store=store, project=tmp_path) as session:
        before = session.context().workspace
    with plimsoll.open("b", store=store, project=False) as session:
        assert session.context().workspace == before is not None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("user_id", 7),
        ("preferences", [1]),
        ("preferences", {"a": object()}),
        ("preferences", {1: 2}),
        ("preferences", {"deep": [float("nan")]}),
        ("configuration", {"a": float("inf")}),
        ("configuration", "x"),
        ("project", 3.5),
    ],
)
def test_refused(tmp_path: Path, field: str, value: Any) -> None:
    """An option that cannot be kept is refused by name, and no session is made."""
    with pytest.raises(SettingError) as refusal:
        plimsoll.open("a", store=str(tmp_path / "s"), **{field: value})

    assert refusal.value.field == field
    assert plimsoll.sessions(str(tmp_path / "s")) == []


def test_given_objects_stay_as_they_are(tmp_path: Path) -> None:
    """What the host hands in is copied: changing it afterwards changes nothing, and it is not changed itself."""
    mine: dict[str, Any] = {"a": [1]}
    with plimsoll.open("a", store="memory:", preferences=mine) as session:
        mine["a"].append(2)

        assert session.context().session.preferences == {"a": [1]}


def call(name: str, id: str) -> dict[str, Any]:
    """An assistant's call in Anthropic's format."""
    return {"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": name, "input": {}}]}


def result(id: str, *, failed: bool = False) -> dict[str, Any]:
    """Its result."""
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "x", "is_error": failed}]}


def test_outputs_in_plain_text_are_no_topics() -> None:
    """What the host sends as the user's message, in answer to a command in the model's text, is nothing that the user asked."""
    with plimsoll.open("a", store="memory:") as session:
        session.append({"role": "user", "content": "Fix the drift"})
        session.append({"role": "assistant", "content": "I look.\n```bash\ncat drift.log\n```"})
        session.append({"role": "user", "content": "Observation: 12 lines"})
        assert session.context().conversation.topics == ("Fix the drift",)


@pytest.mark.spec("S1-07", "S1-08")
def test_conversation_and_tools() -> None:
    """Topics, last activity, recent calls and their success are gathered from the newest messages (S1-07, S1-08)."""
    with plimsoll.open("a", store="memory:", format="anthropic") as session:
        assert session.context().conversation.last_activity_ms is None
        session.extend([{"role": "user", "content": "  Fix the drift\nand tell me"}, call("read", "1"), result("1")])
        session.extend([call("run", "2"), result("2", failed=True), call("run", "3")])
        found = session.context()

    assert found.conversation.topics == ("Fix the drift",)
    assert found.conversation.messages == 6
    assert found.conversation.last_activity_ms == pytest.approx(time.time() * 1000, abs=60_000)
    assert [(one.tool_name, one.success) for one in found.tool.recent_calls] == [
        ("read", True),
        ("run", False),
        ("run", None),
    ]
    assert (found.tool.tool_states["run"].calls, found.tool.tool_states["run"].failed) == (2, 1)


@pytest.mark.spec("S1-08")
@pytest.mark.parametrize(
    ("found", "asked", "depends"),
    [
        ("src/tide.py:12: def ebb", {"path": "src/tide.py"}, True),
        ("order ORD-7719 waits", {"id": "ORD-7719"}, True),
        ("see https://example.org/a?b", {"deep": [{"url": "https://example.org/a"}]}, True),
        ("run 8812345 failed", {"run": 8812345}, True),
        ("修复 src/tide.py。", {"command": "cat src/tide.py"}, True),
        ("there are 1000 of these files", {"limit": 1000, "what": "files"}, False),
        ("nothing", {"path": "src/tide.py"}, False),
        ("named/by/user.py", {"path": "named/by/user.py"}, False),
        ("own.py", {"path": "own.py"}, False),
    ],
)
def test_dependencies(found: str, asked: dict[str, Any], depends: bool) -> None:
    """A tool depends on the one whose result first named what it is called with; not on one that repeats what was said (S1-08)."""
    own = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "0", "name": "read", "input": {"path": "own.py"}}],
    }
    search = call("search", "1")
    then = {"role": "assistant", "content": [{"type": "tool_use", "id": "2", "name": "read", "input": asked}]}
    answer = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": found}]}
    store = InMemoryStore()
    with plimsoll.open("a", store=store, format="anthropic") as session:
        session.append({"role": "user", "content": "Look at named/by/user.py"})
        session.extend([own, result("0"), search, answer, then, result("2")])
    with plimsoll.open("a", store=store) as session:
        tools = session.context().tool

    assert tools.dependencies == ({"read": ("search",)} if depends else {})


OUTCOMES: list[tuple[str, dict[str, Any], str, bool]] = [
    ("run", {}, "Traceback: ValueError", False),
    ("run", {}, 'Traceback (most recent call last):\n  File "a.py", line 1\nValueError: bad', False),
    ("lookup", {}, "ValueError: no such customer", False),
    ("lookup", {}, "java.lang.IllegalStateException: closed", False),
    ("lookup", {}, "Error: rate limit", False),
    ("lookup", {}, "[ERROR] connection lost", False),
    ("lookup", {}, "Error executing tool lookup: timeout", False),
    ("lookup", {}, "<tool_use_error>File does not exist.</tool_use_error>", False),
    ("lookup", {}, "Failed to open the door", False),
    ("lookup", {}, "失败：没有权限", False),
    ("lookup", {}, "Errors are listed on page 4.", True),
    ("lookup", {}, "Error rates fell by 3 % in May.", True),
    ("lookup", {}, "The traceback module formats exceptions.", True),
    ("lookup", {}, "No errors found.", True),
    ("lookup", {}, "", True),
    ("lookup", {}, '{"error": "not found"}', False),
    ("lookup", {}, '{"error": {"code": 404}, "id": 3}', False),
    ("lookup", {}, '{"error": null, "rows": [1]}', True),
    ("lookup", {}, '{"error": "", "errors": []}', True),
    ("lookup", {}, '{"isError": true, "content": []}', False),
    ("lookup", {}, '{"success": false, "reason": "closed"}', False),
    ("lookup", {}, '{"success": true, "error_count": 4}', True),
    ("lookup", {}, '{"status": "failed"}', False),
    ("lookup", {}, '{"status": "ok", "note": "Traceback: none"}', True),
    ("lookup", {}, '{"output": "3 failed", "metadata": {"exit_code": 1}}', False),
    ("lookup", {}, '{"output": "Traceback (most recent call last)", "metadata": {"exit_code": 0}}', True),
    ("lookup", {}, '{"exit_code": 0}', True),
    ("lookup", {}, '[{"stdout": "", "outcome": {"type": "exit", "exit_code": 2}}]', False),
    ("lookup", {}, '[{"stdout": "", "outcome": {"type": "timeout"}}]', False),
    ("lookup", {}, '[{"stdout": "", "outcome": {"type": "exit", "exit_code": 0}}]', True),
    ("lookup", {}, '[{"error": "an entry of a log"}]', True),
    ("read_file", {"path": "log.json"}, '{"error": "x", "at": 1, "who": 2, "host": 3, "level": 4}', True),
    ("read_file", {"path": "x.py"}, '{"error": "no such file"}', False),
    ("read_file", {"path": "a.py"}, "import sys\n\nraise ValueError: 'FAILED'\nfatal: no", True),
    ("read_file", {"path": "a.py"}, "FileNotFoundError: a.py", False),
    ("bash", {"command": "pytest -q"}, "12 passed in 3 s", True),
    ("bash", {"command": "pytest -q"}, "2 failed, 10 passed in 3 s", False),
    ("bash", {"command": "make"}, "gcc -c a.c\nmake: *** [a.o] Error 1\nexit code: 2", False),
    ("bash", {"command": "make"}, "Process exited with code 0\nOutput:\nTraceback (most recent call last)", True),
    ("bash", {"command": "make"}, "Exit code 1\nno rule", False),
    ("bash", {"command": "ls /nowhere"}, "ls: cannot access '/nowhere': No such file or directory", False),
    ("bash", {"command": "frobnicate"}, "bash: line 1: frobnicate: command not found", False),
    (
        "bash",
        {"command": "cat notes.md"},
        "# Faults\nTraceback (most recent call last) is printed when\nfatal: happens",
        True,
    ),
    ("bash", {"command": "cat gone.md"}, "cat: gone.md: No such file or directory", False),
    ("bash", {"command": "cd src && grep -rn FAILED ."}, "./a.py:3: print('--- FAIL')\n./b.py:9: FAILED", True),
    ("bash", {"command": "git push"}, "remote: denied\nfatal: could not read from remote", False),
]


@pytest.mark.slow
@pytest.mark.spec("S1-08")
@pytest.mark.parametrize("format", ["openai-chat", "openai-responses", "anthropic", "ui-parts"])
@pytest.mark.parametrize(("name", "arguments", "text", "success"), OUTCOMES)
def test_success_is_told_from_what_a_tool_answered(
    name: str, arguments: dict[str, Any], text: str, success: bool, format: Any
) -> None:
    """Where no field says how a call went, what it answered does; what it only read or found does not (S1-08)."""
    said = json.dumps(arguments)
    asked = {"id": "c1", "type": "function", "function": {"name": name, "arguments": said}}
    messages: list[Any] = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [asked]},
        {"role": "tool", "tool_call_id": "c1", "content": text},
    ]
    if format != "openai-chat":
        messages = list(plimsoll.convert(messages, to=format, format="openai-chat").messages)
    with plimsoll.open("a", store="memory:", format=format, project=False) as session:
        session.extend(messages)
        tools = session.context().tool

    assert [one.success for one in tools.recent_calls] == [success]
    assert tools.tool_states[name].failed == (not success)


@pytest.mark.spec("S1-08")
def test_what_a_result_states_is_believed() -> None:
    """A field that says how a call went counts for more than the words of the answer."""
    asked = {"id": "c1", "type": "function", "function": {"name": "run", "arguments": "{}"}}
    for stated, text in ((True, "all well"), (False, "Traceback: ValueError")):
        with plimsoll.open("a", store="memory:", project=False) as session:
            session.append({"role": "assistant", "content": None, "tool_calls": [asked]})
            session.append({"role": "tool", "tool_call_id": "c1", "content": text, "is_error": stated})
            assert [one.success for one in session.context().tool.recent_calls] == [not stated]


@pytest.mark.spec("S1-08")
def test_a_tool_is_no_source_of_its_own() -> None:
    """A tool that is called with what it found itself depends on no other: chains of reads are no dependency."""
    with plimsoll.open("a", store="memory:", format="anthropic", project=False) as session:
        session.append({"role": "user", "content": "Look around"})
        first = {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "read", "input": {}}]}
        answer = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "see src/ebb.py"}]}
        then = {"type": "tool_use", "id": "2", "name": "read", "input": {"path": "src/ebb.py"}}
        session.extend([first, answer, {"role": "assistant", "content": [then]}, result("2")])
        assert session.context().tool.dependencies == {}


def test_lists_are_bounded() -> None:
    """However long the history, only the newest requests and calls are listed, each cut to a line."""
    with plimsoll.open("a", store="memory:", format="anthropic") as session:
        for number in range(60):
            words = f"request {number} " + "x" * 5_000
            session.extend([{"role": "user", "content": words}, call("read", str(number)), result(str(number))])
        found = session.context()

    assert len(found.tool.recent_calls) == ACTIVITY_CALLS_MAX
    assert len(found.conversation.topics) == ACTIVITY_TOPICS_MAX
    assert found.conversation.topics[-1].startswith("request 59 ")
    assert max(map(len, found.conversation.topics)) <= 80
    assert json.loads(json.dumps(found.to_dict()))["conversation"]["messages"] == 180


@pytest.mark.spec("S1-10")
def test_metadata(tmp_path: Path) -> None:
    """How much the view holds and when the log last grew is said too, as it is now (S1-10)."""
    with plimsoll.open("a", store=str(tmp_path), max_tokens=2_000, project=False) as session:
        first = session.context().metadata
        fill(session)
        then = session.context().metadata
        session.compact()
        last = session.context().metadata
        status = session.status()

    assert (first.total_tokens < last.total_tokens < then.total_tokens, first.budget_tokens) == (True, 2_000)
    assert last.total_tokens == status.current_tokens
    assert first.last_updated_ms is not None
    assert then.last_updated_ms is not None
    assert last.last_updated_ms is not None
    assert time.time() * 1000 - 60_000 < first.last_updated_ms <= then.last_updated_ms <= last.last_updated_ms


def test_a_fork_has_the_same(tmp_path: Path) -> None:
    """A fork is of the same user and project, under its own name."""
    with plimsoll.open("a", store=str(tmp_path), project=False, **MINE) as session:
        session.append({"role": "user", "content": "x"})
        with session.fork(name="b") as other:
            found = other.context().session

    assert (found.session_id, found.user_id, found.preferences) == ("b", "u-7", MINE["preferences"])
