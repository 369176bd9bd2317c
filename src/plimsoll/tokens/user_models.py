"""The user's own file of models. The one place of the registry that reads the environment and the disk."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from plimsoll.errors import SettingError
from plimsoll.limits import REGISTRY_FILE_SIZE_BYTES_MAX

ENVIRONMENT = "PLIMSOLL_MODELS"
"""Names a JSON file of `{model name: {field of ModelInfo: value}}` that is used beside the packaged data."""


def user_models_path() -> str | None:
    """The file that the environment names; None without one."""
    return os.environ.get(ENVIRONMENT) or None


@cache
def read_entries(path: str) -> Mapping[str, Any]:
    """The entries of a file, unchecked, by model name. Read once per process and path.

    Raises SettingError when it cannot be read, is too large, or is not one JSON object.
    """
    try:
        entries = json.loads(_small(Path(path)))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise SettingError(ENVIRONMENT, f"{path} cannot be read as JSON: {error}") from error
    except ValueError as error:
        if isinstance(error, SettingError):
            raise
        raise SettingError(ENVIRONMENT, f"{path} has a number that is too long") from error
    if not isinstance(entries, dict):
        raise SettingError(ENVIRONMENT, f"{path} must hold one JSON object, by model name")
    return entries


def _small(path: Path) -> bytes:
    if path.stat().st_size > REGISTRY_FILE_SIZE_BYTES_MAX:
        raise SettingError(ENVIRONMENT, f"{path} is larger than {REGISTRY_FILE_SIZE_BYTES_MAX} bytes")
    return path.read_bytes()
