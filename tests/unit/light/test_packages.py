"""Finding packages and the files in them."""

from __future__ import annotations

import importlib
import sys
import zipfile
from pathlib import Path

import pytest

from plimsoll.light.packages import is_installed, package_file


def test_a_file_in_a_folder_and_in_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both have the same bytes, and a file that is not there is an error."""
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as archive:
        archive.writestr("quay_packed/__init__.py", "")
        archive.writestr("quay_packed/data.bin", b"\x00\xff")
    monkeypatch.syspath_prepend(str(tmp_path / "packed.zip"))
    importlib.import_module("quay_packed")

    assert package_file("quay_packed", "data.bin") == b"\x00\xff"
    assert package_file("plimsoll.tokens", "models.json")[:1] == b"{"
    with pytest.raises(OSError, match="none"):
        package_file("plimsoll.tokens", "none.bin")


def test_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packages that are imported, that can be, that cannot, and that somebody has ruled out. Finders may be of any age."""
    monkeypatch.setattr(sys, "meta_path", [object(), *sys.meta_path])
    assert is_installed("plimsoll")
    assert is_installed("splintr")
    assert not is_installed("no_such_package_here")
    monkeypatch.setitem(sys.modules, "splintr", None)
    assert not is_installed("splintr")
