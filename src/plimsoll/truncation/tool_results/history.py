"""What `git log` writes, shorter: a commit on a line."""

from __future__ import annotations

from collections.abc import Sequence

from plimsoll.light.regex import regex

_COMMIT = regex(r"commit ([0-9a-f]{7,64})(?: \([^)]{0,400}\))?\s{0,8}\Z")
_HEADER = regex(r"(Author|AuthorDate|Date|Commit|CommitDate|Merge): {1,8}(.{0,200})")
_MAIL = regex(r" <[^<>]{0,200}>\s{0,8}\Z")
_HASH_CHARS = 10


def is_history(lines: Sequence[str]) -> bool:
    """Whether lines are what `git log` writes."""
    return len(lines) > 1 and _COMMIT.match(lines[0]) is not None and _HEADER.match(lines[1]) is not None


def fold_commits(lines: Sequence[str]) -> list[str]:
    """Each commit's hash, subject, author and date on one line, its other lines below."""
    folded: list[str] = []
    head: list[str] = []
    for line in lines:
        commit = _COMMIT.match(line)
        header = None if commit or not head else _HEADER.match(line)
        if commit:
            folded += [" ".join(head)] if head else []
            head = [commit[1][:_HASH_CHARS]]
        elif header:
            head += [_MAIL.sub("", header[2])] if header[1] in {"Author", "Date"} else []
        elif head and line.strip():
            folded.append(f"{head[0]} {line.strip()}" + (f" ({', '.join(head[1:])})" if head[1:] else ""))
            head = []
        elif not head and line.strip():
            folded.append(line)
    return folded + ([" ".join(head)] if head else [])
