"""Writes docs/reference.md from the signatures and docstrings of the public names: `make reference`.

A test compares the page with what this gives. `GROUPS` is the only thing that is written by hand here: which name stands where.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import re
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import plimsoll

PAGE = Path(__file__).resolve().parent / "reference.md"

GROUPS = {
    "One call": "fit afit plan window check model_summarizer",
    "Policies and budgets": "Policy LoadLines Budget TokenBudget Level",
    "Sessions": "open aopen Session",
    "Clients of the SDKs": "wrap session_of",
    "Sessions by name": "sessions recall_sessions archive restore delete verify repair open_store",
    "Sessions of other tools": "import_file import_name load_file discover",
    "Facts across sessions": "open_memory Memories Memory MemoryOrigin MemoryStore",
    "Counting and measuring": "count_tokens preload token_counter measure inspect",
    "What a compaction keeps": "loss_report evaluate write_sheets grade_sheets",
    "Formats": "convert validate",
    "Texts and results": "cut shrink Offloads",
    "Files that a conversation names": "files_mentioned read_files with_files",
    "What calls return and take": (
        "Fitted Plan Report Action View Windowed Check Status Stats Compaction Hit HistoryMessage Usage SummaryRequest Converted "
        "Loss Violation Cut Shrunk FileMention FileContent Measure Inspection SessionInfo Verified Repaired Damage Exported "
        "LossReport Evaluation WayScore Outcome Probe ProbeCounts AskedConversation BlindResult "
        "Transcript Conversation Finding SessionFile ContextLayers Filter Storage Store TokenCounter"
    ),
}
"""Every public name but `errors`, which has a section of its own."""

METHODS = {
    "The conversation": "append extend view peek sync history messages message can_append close",
    "Compacting": "check status preview compact compactions view_after rollback reapply stats",
    "What left the view": "recall read tools is_tool call_tool pin unpin files",
    "Facts across sessions": "memory flush_memories aflush_memories",
    "Usage and size": "record_usage usage measure inspect",
    "Callers that await": "aappend aextend aview sync_async acompact aclose",
    "Other tools": "export not_exportable update",
    "Its surroundings": "context context_text notes put_blob get_blob fork times_ms cache_info",
    "What it is": "name where format model policy system options summarizer message_count history_count is_shortened damage",
}
"""The methods and properties of a session. Those in INTERNAL are for the package itself."""

INTERNAL = {
    "Plan": {"outline", "made_at", "options"},
    "Stats": {"ratio_sum", "after", "totals"},
}
INTERNAL |= {"Memories": {"take", "read_to", "shown", "count_hits"}}
INTERNAL |= {"Inspection": {"draw"}}
"""Fields and methods that callers have no use for."""

ALIASES = {
    "message": "MessageLike FormatName",
    "formats.format": "SystemText",
    "compaction.drive": "Summarizer AsyncSummarizer",
    "tokens.counter": "CounterChoice",
    "policy.policy": "PolicyChoice",
    "policy.presets": "PresetName Step Strategy SummaryRole SummaryFrame Language",
    "policy.budget": "Mark Urgency",
    "records.values": "Trigger",
    "compaction.plan": "Stage",
    "compaction.view_message": "Decision",
    "store.open": "StoreSpec",
    "protocols": "Durability MemoryKind Speaker",
    "memory.opening": "MemorySpec",
    "memory.memories": "ScopeName",
    "session.environment": "Project",
    "transcripts.values": "ToolName",
    "api.inspect": "Inspectable",
}
"""Types of options and fields that have no name in `plimsoll`, by the module that has them."""

HEAD = """# Reference

Every public name of `plimsoll` with its parameters, fields and errors. [The library](library.md) shows them at work; this page is
written by `make reference` from the signatures and docstrings, and a test says that it is current.

Sizes are in tokens, positions count from 0, and times are Unix times in milliseconds unless a name says otherwise (`_s`: seconds).
"""


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    parts += [f"- [{title}](#{title.lower().replace(' ', '-')}): {_links(names)}" for title, names in GROUPS.items()]
    parts += ["- [Types of options](#types-of-options), [Errors](#errors)\n"]
    for title, names in GROUPS.items():
        parts.append(f"## {title}\n")
        parts += [entry(name) for name in names.split()]
    return "\n".join([*parts, aliases(), errors()])


def entry(name: str) -> str:
    """The section of one name."""
    value = getattr(plimsoll, name)
    head = f'<a id="{_anchor(name)}"></a>\n\n### {name}\n'
    if name == "Session":
        return "\n".join([head, *_session(value)])
    if isinstance(value, type):
        return "\n".join([head, *_class(value)])
    return "\n".join([head, _signature(name, value), "", prose(value), ""])


def aliases() -> str:
    """The types of options that are written down once, with what they may be."""
    rows = ["## Types of options\n", "| type | what it may be | what that means |", "| --- | --- | --- |"]
    for module, names in ALIASES.items():
        known = dict(_alias_docs(module))
        for name in names.split():
            value, about = known[name]
            rows.append(f"| `{name}` | {_cell(value)} | {_cell(about)} |")
    return "\n".join([*rows, ""])


def _alias_docs(module: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """The types that a module names, with the text that follows each."""
    path = Path(plimsoll.__file__).parent.joinpath(*module.split(".")).with_suffix(".py")
    body = ast.parse(path.read_text(encoding="utf-8")).body
    for node, after in zip(body, [*body[1:], ast.Pass()], strict=True):
        target = (
            node.targets[0]
            if isinstance(node, ast.Assign)
            else node.target
            if isinstance(node, ast.AnnAssign)
            else None
        )
        if isinstance(target, ast.Name) and node.value is not None:
            is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            yield target.id, (_choices(node.value), str(after.value.value) if is_text else "")


def _choices(value: ast.expr) -> str:
    """A type as people read it: the words of a Literal, else the type itself."""
    if isinstance(value, ast.Subscript) and ast.unparse(value.value) == "Literal":
        return ", ".join(
            f"`{ast.unparse(word)}`".replace("'", '"')
            for word in ast.walk(value.slice)
            if isinstance(word, ast.Constant)
        )
    return f"`{_type(ast.unparse(value))}`"


def errors() -> str:
    """The errors and warnings: what each says."""
    found = [
        value
        for value in vars(plimsoll.errors).values()
        if isinstance(value, type) and issubclass(value, BaseException) and value.__module__ == "plimsoll.errors"
    ]
    rows = [f"| `{value.__name__}` | `{value.__base__.__name__}` | {_cell(_doc(value))} |" for value in found]
    table = ["| name in `plimsoll.errors` | a kind of | when, and what is still true |", "| --- | --- | --- |", *rows]
    return "\n".join(["## Errors\n", *table, ""])


def _class(cls: type) -> Iterator[str]:
    yield prose(cls) + "\n"
    if issubclass(cls, enum.Enum):
        yield "| value | number |\n| --- | --- |\n" + "\n".join(f"| `{one.name}` | {one.value} |" for one in cls) + "\n"
        return
    if rows := list(_fields(cls)):
        yield "| field | type | default | what it says |\n| --- | --- | --- | --- |\n" + "\n".join(rows) + "\n"
    for name, member in _members(cls).items():
        yield _member(cls, name, member)


def _session(cls: type) -> Iterator[str]:
    """A class with many methods: by what they are for."""
    yield prose(cls) + "\n"
    members = _members(cls)
    for title, names in METHODS.items():
        yield f"#### {title}\n"
        for name in names.split():
            yield _member(cls, name, members.pop(name))
    if members:  # not sorted yet
        yield "#### More\n"
        yield from (_member(cls, name, member) for name, member in members.items())


def _member(cls: type, name: str, member: Any) -> str:
    title = f"**{cls.__name__}.{name}**"
    if isinstance(member, property):
        return f"{title} (`{_type(member.fget.__annotations__.get('return', ''))}`): {prose(member)}\n"
    function = getattr(cls, name)
    return f"{title}\n\n{_signature(name, function)}\n\n{prose(function)}\n"


def _fields(cls: type) -> Iterator[str]:
    """A row for each public field of a data class, with the text that follows it in the source."""
    if not dataclasses.is_dataclass(cls):
        return
    about = {name: text for base in reversed(cls.__mro__) for name, text in _attribute_docs(base)}
    for field in dataclasses.fields(cls):
        if not field.name.startswith("_") and field.name not in INTERNAL.get(cls.__name__, ()):
            shown = _cell(about.get(field.name, ""))
            yield f"| `{field.name}` | `{_escaped(_type(field.type))}` | {_default(field)} | {shown} |"


def _attribute_docs(cls: type) -> list[tuple[str, str]]:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    except (OSError, TypeError):
        return []
    body = tree.body[0].body
    return [
        (before.target.id, after.value.value)
        for before, after in pairwise(body)
        if isinstance(before, ast.AnnAssign) and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
    ]


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default is not dataclasses.MISSING:
        value = f'"{field.default}"' if isinstance(field.default, str) else str(field.default)
        return f"`{_escaped(value)}`" if not callable(field.default) else ""
    if field.default_factory is not dataclasses.MISSING:
        made = field.default_factory
        return (
            f"`{getattr(made, '__name__', '...')}()`" if made in (dict, list, tuple) or isinstance(made, type) else ""
        )
    return "needed"


def _members(cls: type) -> dict[str, Any]:
    """The public methods and properties, those of the package's own bases included, in the order of the source."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("plimsoll") and base.__name__ != "ShortRepr":
            found |= {name: value for name, value in vars(base).items() if not name.startswith("_")}
    known = {field.name for field in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set()
    known |= INTERNAL.get(cls.__name__, set())
    return {
        name: value
        for name, value in found.items()
        if name not in known and (isinstance(value, (property, classmethod, staticmethod)) or inspect.isfunction(value))
    }


def _signature(name: str, function: Any) -> str:
    """The call as it is written, one parameter a line where it is long."""
    found = inspect.signature(function)
    shown = [one for one in found.parameters.values() if one.name not in ("self", "cls")]
    words, has_star = [], False
    for one in shown:
        if one.kind is inspect.Parameter.KEYWORD_ONLY and not has_star:
            words.append("*")
            has_star = True
        has_star = has_star or one.kind is inspect.Parameter.VAR_POSITIONAL
        words.append(_parameter(one))
    end = "" if found.return_annotation is inspect.Signature.empty else f" -> {_type(found.return_annotation)}"
    line = f"{name}({', '.join(words)}){end}"
    if len(line) > 110:
        line = f"{name}(\n    " + ",\n    ".join(words) + f",\n){end}"
    word = "await " if inspect.iscoroutinefunction(function) else ""
    return f"```text\n{word}{line}\n```"


def _parameter(one: inspect.Parameter) -> str:
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}.get(one.kind, "")
    kind = "" if one.annotation is inspect.Parameter.empty else f": {_type(one.annotation)}"
    if one.default is inspect.Parameter.empty:
        return f"{stars}{one.name}{kind}"
    value = f'"{one.default}"' if isinstance(one.default, str) else repr(one.default)
    return f"{stars}{one.name}{kind} = {value}"


def _type(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    return text.strip("\"'").replace("plimsoll.", "")


def prose(value: Any) -> str:
    """A docstring as Markdown: paragraphs joined, and its lists of arguments as lists."""
    return "\n\n".join(_paragraph(part) for part in _doc(value).split("\n\n"))


def _paragraph(text: str) -> str:
    title, _, rest = text.partition("\n")
    if title in ("Args:", "Options:"):
        rows = re.split(r"\n    (?=\S)", f"\n{rest}")[1:]
        shown = (row.partition(": ") for row in rows)
        return "\n".join(f"- `{name}`: {' '.join(about.split())}" for name, _, about in shown)
    if text.lstrip().startswith("- "):
        return text
    if title in ("Raises:", "Returns:"):
        return f"{title} {' '.join(rest.split())}"
    return " ".join(text.split()) if "──" not in text else f"```text\n{text}\n```"


def _doc(value: Any) -> str:
    return inspect.getdoc(value) or ""


def _cell(text: str) -> str:
    """A text in one cell of a table; the items of a list go below each other."""
    return _escaped(" ".join(re.sub(r"\n\s*- ", " <br>", text).split()))


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


def _anchor(name: str) -> str:
    """An id that differs for a class and a function of the same letters, such as `Cut` and `cut`."""
    return f"{'class' if name[0].isupper() else 'call'}-{name.lower()}"


def _links(names: str) -> str:
    return ", ".join(f"[{name}](#{_anchor(name)})" for name in names.split())


if __name__ == "__main__":
    main()
