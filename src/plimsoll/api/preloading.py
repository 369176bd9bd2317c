"""Loading ahead what calls need. Imports little, so that the vocabulary is asked for at once."""

from __future__ import annotations

from threading import Thread

from plimsoll.tokens.counter import preload as load_vocabulary
from plimsoll.tokens.registry import DEFAULT_MODEL


def preload(model: str | None = DEFAULT_MODEL) -> None:
    """Load what counting and compacting for a model need, about 0.25 s, so that the first call does not wait.

    For servers at start-up; may run in a thread. Raises SettingError.
    """
    # Most of the vocabulary loads without the interpreter, which imports the engine meanwhile.
    engine = Thread(target=_import_engine, daemon=True)
    try:
        engine.start()
    except RuntimeError:  # no thread can be started here: the first call imports it
        load_vocabulary(model)
        return
    try:
        load_vocabulary(model)
    finally:
        engine.join()


def _import_engine() -> None:
    import plimsoll.compaction.one_call  # noqa: F401, PLC0415 - as above
