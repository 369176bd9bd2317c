"""Scopes: whom a memory is about. Each is one text, and no text is two scopes."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TypeAlias
from urllib.parse import quote

from plimsoll.environment.workspace import workspace_context
from plimsoll.errors import SettingError
from plimsoll.light.named_tuple import NamedTuple
from plimsoll.policy.validation import short_repr

Project: TypeAlias = "str | os.PathLike[str] | bool | None"
"""A project's folder; True for the current one; False or None: no project."""


class Scopes(NamedTuple):
    """The scopes that one caller sees: the user's own and, if there is a project, the project's."""

    user: str
    project: str | None = None

    @property
    def all(self) -> tuple[str, ...]:
        """Both, or the user's alone."""
        return (self.user,) if self.project is None else (self.user, self.project)

    def of(self, *, is_local: bool) -> str:
        """The project's scope for what is about a project, if there is one; else the user's."""
        return self.project if is_local and self.project is not None else self.user


def scopes_of(user_id: str | None = None, project_path: str | None = None) -> Scopes:
    """The scopes of a user (None: the only one) and of the project in a folder (None: no project).

    Several users of one store share nothing, also not in one project. Links are resolved, so that a folder has one scope.
    """
    user = "user" if user_id is None else f"user:{quote(user_id, safe='', errors='surrogatepass')}"
    if project_path is None:
        return Scopes(user)
    place = f"project:{_resolved(project_path)}"
    return Scopes(user, place if user_id is None else f"{user}/{place}")


def _resolved(project_path: str) -> str:
    try:
        return os.path.realpath(project_path)
    except OSError:
        raise SettingError("project", "the current folder is gone; name the project's folder, or none") from None


def project_path_of(project: Project) -> str | None:
    """The folder of the option `project`: the root of the project that a folder (True: the current one) is in."""
    if project is None or project is False:
        return None
    if project is not True and not isinstance(project, (str, os.PathLike)):
        raise SettingError("project", f"a folder, True or False is needed, not {short_repr(project)}")
    try:
        path = workspace_context(None if project is True else project).project_path
        with suppress(FileNotFoundError):
            os.stat(path or ".")  # noqa: PTH116 - raises for what no file system can hold
    except (OSError, ValueError):
        raise SettingError("project", "cannot be a path on this system") from None
    return path
