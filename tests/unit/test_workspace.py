"""What is read of a project: branch, remote and manifest, from small regular files only, and never by running anything."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.environment.workspace import _python_package, _remote, system_context, workspace_context
from plimsoll.limits import DEPENDENCIES_MAX, PROJECT_FILE_SIZE_BYTES_MAX, PROJECT_TEXT_CHARS_MAX

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def repository(place: Path, *, head: str = "ref: refs/heads/main\n", config: str = "") -> Path:
    """A folder with a `.git` in it, as far as anybody reads it."""
    folder = place / ".git"
    folder.mkdir(parents=True)
    (folder / "HEAD").write_text(head)
    (folder / "config").write_text(config)
    return place


@pytest.mark.spec("W1-30")
@pytest.mark.parametrize(
    ("head", "branch", "detached"),
    [
        ("ref: refs/heads/main\n", "main", None),
        ("ref: refs/heads/fix/a-b\n", "fix/a-b", None),
        (COMMIT + "\n", None, "0123456"),
        ("a" * 64, None, "aaaaaaa"),
        ("ref: refs/heads/.invalid\n", None, None),
        ("HEAD\n", None, None),
        ("", None, None),
        ("\x00\xff" * 50, None, None),
    ],
)
def test_branch(tmp_path: Path, head: str, branch: str | None, detached: str | None) -> None:
    """A branch is named as it is; a detached HEAD is told by its commit, not called a branch (W1-30)."""
    found = workspace_context(repository(tmp_path, head=head))

    assert (found.git_branch, found.git_detached_at) == (branch, detached)


@pytest.mark.parametrize(
    ("config", "remote"),
    [
        ('[remote "origin"]\n\turl = https://example.org/a.git\n', "https://example.org/a.git"),
        ('[remote "up"]\n url = b\n[remote "origin"]\n url = a\n', "a"),
        ('[remote "up"]\n\turl = git@example.org:a/b.git\n', "git@example.org:a/b.git"),
        ('[remote "origin"]\nurl = https://name:secret@example.org/a\n', "https://example.org/a"),
        ('[remote "origin"]\nurl = https://token@example.org/a\n', "https://example.org/a"),
        ('[remote "origin"]\nurl = https://name:se@cr@et@example.org/a@b\n', "https://example.org/a@b"),
        ('[Remote  "origin"]\nURL = https://example.org/a\n', "https://example.org/a"),
        ('[branch "main"]\nurl = a\n', None),
        ('[remote "origin"]\nfetch = +refs/heads/*\n', None),
        ("", None),
    ],
)
def test_remote(tmp_path: Path, config: str, remote: str | None) -> None:
    """The remote is origin's, else the first one's, and never carries a password."""
    assert workspace_context(repository(tmp_path, config=config)).git_remote == remote


def test_real_repository_and_worktree(tmp_path: Path) -> None:
    """What git itself made is read as git says it, from a worktree and from a folder inside as well."""
    main, tree = tmp_path / "main", tmp_path / "tree"
    run(tmp_path, "init", "-q", "-b", "trunk", str(main))
    run(main, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", "first")
    run(main, "remote", "add", "origin", "https://example.org/x.git")
    run(main, "worktree", "add", "-q", "-b", "side", str(tree))
    (tree / "deep" / "er").mkdir(parents=True)
    found, inside = workspace_context(main), workspace_context(tree / "deep" / "er")
    run(main, "checkout", "-q", "--detach")

    assert (found.git_branch, found.git_remote) == ("trunk", "https://example.org/x.git")
    assert (inside.git_branch, inside.git_remote) == ("side", "https://example.org/x.git")
    assert inside.project_path == str(tree)
    assert workspace_context(main).git_detached_at == run(main, "rev-parse", "HEAD")[:7]


def run(place: Path, *words: str) -> str:
    """What git prints; the test is skipped where there is none."""
    try:
        done = subprocess.run(["git", "-C", str(place), *words], capture_output=True, text=True, check=True)
    except FileNotFoundError:
        pytest.skip("git is not installed")
    return done.stdout.strip()


def test_pyproject(tmp_path: Path) -> None:
    """Name, version and dependencies come from `[project]`, comments and quotes of both kinds included."""
    (tmp_path / "pyproject.toml").write_text(
        '[tool.x]\nname = "no"\n[project] # here\nname = "tide"\nversion = \'1.2\'\n'
        'dependencies = [ # ["no"]\n  "rich>=13", \'x[y]~=1\', # "no"\n]\n[project.scripts]\nversion = "no"\n'
    )
    found = workspace_context(tmp_path).package

    assert found is not None
    assert (found.manifest, found.name, found.version) == ("pyproject.toml", "tide", "1.2")
    assert found.dependencies == {"rich": ">=13", "x": "[y]~=1"}


def test_package_json(tmp_path: Path) -> None:
    """A package.json is read where no pyproject.toml has a `[project]`."""
    (tmp_path / "pyproject.toml").write_text("[tool.x]\n")
    (tmp_path / "package.json").write_text(json.dumps({"name": "n", "version": 3, "dependencies": {"a": "^1", "b": 2}}))
    found = workspace_context(tmp_path).package

    assert found is not None
    assert (found.manifest, found.name, found.version, found.dependencies) == ("package.json", "n", None, {"a": "^1"})


@pytest.mark.parametrize("text", ["[" * 100_000, "[]", '"x"', "{", "NaN", '{"dependencies": []}'])
def test_hostile_package_json(tmp_path: Path, text: str) -> None:
    """A package.json that is none says nothing, and raises nothing."""
    (tmp_path / "package.json").write_text(text)
    found = workspace_context(tmp_path).package

    assert found is None or (found.name is None and not found.dependencies)


def test_sizes_are_bounded(tmp_path: Path) -> None:
    """Long names are cut, many dependencies left out, and a file beyond its limit passed over."""
    wanted = {f"d{number}": "1" for number in range(DEPENDENCIES_MAX + 50)}
    (tmp_path / "package.json").write_text(json.dumps({"name": "n" * 9_999, "dependencies": wanted}))
    found = workspace_context(tmp_path).package
    assert found is not None
    assert (len(found.name or ""), len(found.dependencies)) == (PROJECT_TEXT_CHARS_MAX, DEPENDENCIES_MAX)

    (tmp_path / "package.json").write_text(" " * PROJECT_FILE_SIZE_BYTES_MAX + "{}")
    assert workspace_context(tmp_path).package is None


@pytest.mark.spec("W1-28")
@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes as POSIX has them")
@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "link to .git"])
def test_no_surprises(tmp_path: Path, kind: str) -> None:
    """Links are not followed and a pipe does not hang: what is no regular file of the project is passed over (W1-28)."""
    secret = repository(tmp_path / "elsewhere", head="ref: refs/heads/secret\n")
    (secret / "package.json").write_text('{"name": "secret"}')
    project = tmp_path / "project"
    project.mkdir()
    match kind:
        case "link":
            (project / "package.json").symlink_to(secret / "package.json")
            repository(project)
            (project / ".git" / "HEAD").unlink()
            (project / ".git" / "HEAD").symlink_to(secret / ".git" / "HEAD")
        case "pipe":
            os.mkfifo(project / "package.json")
            (project / ".git").mkdir()
            os.mkfifo(project / ".git" / "HEAD")
        case "folder":
            (project / "package.json").mkdir()
            (project / ".git" / "HEAD").mkdir(parents=True)
        case _:
            (project / ".git").symlink_to(secret / ".git")
    found = workspace_context(project)

    assert (found.git_branch, found.package) == (None, None)


@pytest.mark.parametrize("name", ["", ".", "no/such", "\0", "x" * 5_000, "\udcff", "~", "../.."])
def test_any_folder(name: str) -> None:
    """Any text names a folder about which something can be said; nothing is raised."""
    assert workspace_context(name).project_path


def test_removed_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder that was removed the current one is unknown, and nothing is raised."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    assert system_context().cwd == "unknown"
    assert workspace_context().project_path == "unknown"


@pytest.mark.spec("S1-05")
def test_system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The system's layer says what runs, where, and under which shell; unknown where nothing says so (S1-05)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SHELL", "/bin/zsh")
    found = system_context()
    assert (found.shell, found.cwd) == ("/bin/zsh", str(tmp_path))
    assert found.runtime_version == sys.version.split()[0].rstrip("+")
    assert found.os_type != "unknown"

    monkeypatch.delenv("SHELL")
    monkeypatch.delenv("COMSPEC", raising=False)
    assert system_context().shell == "unknown"


def test_no_program_is_run(tmp_path: Path) -> None:
    """Reading a workspace starts no process and opens no socket."""
    events: list[str] = []
    sys.addaudithook(lambda name, _: events.append(name) if name in SPAWNING and events is not None else None)
    workspace_context(repository(tmp_path))
    system_context()

    assert events == []


SPAWNING = {"subprocess.Popen", "os.exec", "os.fork", "os.posix_spawn", "os.system", "socket.connect", "pty.spawn"}


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "text",
    [
        "dependencies = [\n" * 15_000,
        "dependencies = [" + '"' * 200_000,
        "dependencies = [" + "'a" * 100_000,
        "name = '" + "a" * 200_000,
        "#\n" * 100_000,
        '[remote "' * 20_000,
        "url = " * 30_000,
    ],
)
def test_hostile_files_are_quick(text: str) -> None:
    """A file made to be slow does not hang its reader."""
    _python_package(text)
    _remote(text)


@given(st.text(max_size=300))
def test_any_text(text: str) -> None:
    """Any text in the place of a manifest or a config says something or nothing, and raises nothing."""
    assert _python_package(text).manifest == "pyproject.toml"
    assert _remote(f'[remote "origin"]\n{text}') is None or text
