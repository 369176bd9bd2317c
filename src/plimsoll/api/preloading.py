"""Loading ahead what calls need. Imports little, so that the vocabulary is asked for at once."""

from __future__ import annotations

from importlib import import_module
from threading import Thread

from plimsoll.tokens.counter import preload as load_vocabulary
from plimsoll.tokens.registry import DEFAULT_MODEL


def preload(model: str | None = DEFAULT_MODEL) -> None:
    """Load what counting and compacting for a model need, about 0.25 s, so that the first call does not wait.

    For servers at start-up; may run in a thread. Raises SettingError.
    """
    # Most of the vocabulary loads without the interpreter, which imports the engine meanwhile.
    engine = Thread(target=import_module, args=("plimsoll.compaction.one_call",), daemon=True)
    try:
        engine.start()
    except RuntimeError:  # no thread can be started here: the first call imports it
        load_vocabulary(model)
        return
    try:
        load_vocabulary(model)
    finally:
        engine.join()
