"""Files that a conversation names: nothing outside the folder, behind a link, or under a secret's name is ever read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import plimsoll
from plimsoll.errors import SettingError

SECRET = "the secret"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file in it, and links that lead out of it."""
    place = tmp_path_factory.mktemp("place")
    inside = place / "inside"
    (inside / "sub").mkdir(parents=True)
    (place / "outside.txt").write_text(SECRET)
    (inside / "good.txt").write_text("good")
    (inside / "sub" / "good.txt").write_text("good")
    (inside / "link.txt").symlink_to(place / "outside.txt")
    (inside / "own.txt").symlink_to(inside / "good.txt")
    (inside / "up").symlink_to(place)
    (inside / "sub" / "up").symlink_to("../..")
    (inside / "loop").symlink_to("loop")
    os.mkfifo(inside / "fifo.txt")
    for name in (".env", ".env.local", "id_rsa", "key.pem", "credentials.json", "secrets.yaml", ".netrc", "x.KEY"):
        (inside / name).write_text(SECRET)
    (inside / ".ssh").mkdir()
    (inside / ".ssh" / "config.txt").write_text(SECRET)
    return inside


@pytest.mark.spec("W1-28")
@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("../outside.txt", "outside the folder"),
        ("sub/../../outside.txt", "outside the folder"),
        ("/etc/passwd", "outside the folder"),
        ("//etc/passwd", "outside the folder"),
        ("", "outside the folder"),
        (".", "outside the folder"),
        ("/", "outside the folder"),
        ("/dev/zero", "outside the folder"),
        ("~/x.txt", "missing"),
        ("link.txt", "a link, or not a regular file"),
        ("own.txt", "a link, or not a regular file"),
        ("up/outside.txt", "a link, or not a regular file"),
        ("sub/up/outside.txt", "a link, or not a regular file"),
        ("loop", "a link, or not a regular file"),
        ("loop/x", "a link, or not a regular file"),
        ("fifo.txt", "a link, or not a regular file"),
        ("sub", "a link, or not a regular file"),
        ("good.txt/x", "a link, or not a regular file"),
        *((name, "its name suggests credentials") for name in (".env", ".env.local", "id_rsa", "sub/../key.pem")),
        *((name, "its name suggests credentials") for name in ("credentials.json", "secrets.yaml", ".netrc", "x.KEY")),
        (".ssh/config.txt", "its name suggests credentials"),
        ("a\0b", "cannot be read"),
        ("\ud800", "cannot be read"),
        ("x" * 5_000, "cannot be read"),
    ],
)
def test_nothing_else_is_read(root: Path, path: str, problem: str) -> None:
    """The path is refused with the reason, and no content (W1-28)."""
    (file,) = plimsoll.read_files([path], root=root)

    assert (file.content, file.problem) == (None, problem)


def test_the_folders_own_name_may_be_a_link(root: Path, tmp_path: Path) -> None:
    """How the caller reaches the folder is the caller's affair: paths by either of its names are inside."""
    (tmp_path / "named").symlink_to(root)
    names = [str(tmp_path / "named" / "good.txt"), str(root / "sub" / "good.txt")]

    assert [file.content for file in plimsoll.read_files(names, root=tmp_path / "named")] == ["good", "good"]


def test_a_link_put_in_place_meanwhile_is_not_followed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that becomes a link after it was looked at is opened as what it is now: not at all."""
    plain = os.stat

    def looks_like_a_folder(path: Any, *rest: Any, **options: Any) -> os.stat_result:
        is_link = path in ("up", "link.txt")
        return plain(root / "sub" if path == "up" else root / "good.txt") if is_link else plain(path, *rest, **options)

    monkeypatch.setattr(os, "stat", looks_like_a_folder)
    read = plimsoll.read_files(["up/outside.txt", "link.txt"], root=root)

    assert [file.content for file in read] == [None, None]


@pytest.mark.slow
@given(
    st.lists(
        st.sampled_from(["..", ".", "up", "sub", "inside", "outside.txt", "link.txt", "/", "~", "", "good.txt"]),
        max_size=7,
    )
)
def test_no_path_leads_out(root: Path, steps: list[str]) -> None:
    """Whatever steps a path is made of: what is outside is never in what was read."""
    for path in ("/".join(steps), f"/{'/'.join(steps)}", f"{root}/{'/'.join(steps)}"):
        (file,) = plimsoll.read_files([path], root=root)
        assert file.content in (None, "good")


@pytest.mark.parametrize("folder", [None, 3, "", "no such folder", "good.txt", "a\0b"])
def test_a_folder_that_is_none_is_refused(root: Path, folder: Any) -> None:
    """With the option named."""
    place = root / folder if isinstance(folder, str) and folder else folder
    with pytest.raises(SettingError) as raised:
        plimsoll.read_files([], root=place if folder != "" else root / "good.txt")

    assert raised.value.field == "root"


@pytest.mark.parametrize("files", [[3], [None], [b"good.txt"]])
def test_what_is_no_path_is_refused(root: Path, files: Any) -> None:
    """With the option named."""
    with pytest.raises(SettingError) as raised:
        plimsoll.read_files(files, root=root)

    assert raised.value.field == "files"
