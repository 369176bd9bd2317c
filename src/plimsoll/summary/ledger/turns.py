"""Who says what in a message: the label in front of it, or in front of each of its lines in a transcript or an exported chat."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from plimsoll.light.named_tuple import NamedTuple
from plimsoll.light.regex import regex

if TYPE_CHECKING:
    from collections.abc import Sequence

_SPEAKER = regex(r"([A-Z][\w.'-]{0,20}(?: [A-Z][\w.'-]{0,20})?|[a-z][\w.-]{1,15}|#[A-Za-z]\w{0,15}#): ?(?!//)(?=\S)")
_NAME = r"[^\W\d_a-z\u3400-\u9fff][^\W_]{0,20}"
_SPEAKER_ELSEWHERE = regex(rf"([\u3400-\u9fff]{{1,5}}|{_NAME}(?: {_NAME})?)[:：] ?(?=\S)")
_CLOCK = r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?:[ \u202f]?[AaPp]\.?[Mm]\b\.?)?"
_DATE = r"[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{2,4}"
_STAMPED = regex(
    rf"[ \t]{{0,4}}[\[(]?(?:(?P<day>{_DATE}),?[ T])?{_CLOCK}(?:[\])][ \t]{{0,2}}|[ \t]{{1,2}})(?:[-–—] )?"
    r"(?P<name>(?![-–—]|[\d\s]*:|(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL|CRITICAL)\b)[^\n:\[\](){}]{1,30}?): ?(?=\S)"
)
"""`12/03/2023, 18:22 - Anna: `, `[18:22:10] Anna: `."""

_MAIL = regex(
    r"(?:From|Von|De|От|发件人)[:：] ?(?P<name>[^\n<\[]{1,60}?) ?(?:[<\[][^\n]{0,80})?\n"
    r"(?P<rest>(?:(?:To|Cc|Bcc|Date|Sent|Subject|Reply-To|An|Datum|Gesendet|Betreff|Para|Fecha|Enviado|Asunto|À|Date|Objet"
    r"|Кому|Дата|Тема|收件人|抄送|日期|发送时间|主题) ?[:：][^\n]*\n){1,8})\s*",
    re.IGNORECASE,
)
_MAIL_DAY = regex(
    r"^(?:Date|Sent|Datum|Gesendet|Fecha|Enviado|Дата|日期|发送时间) ?[:：] ?([^\n]+)", re.IGNORECASE | re.MULTILINE
)
_MAIL_SUBJECT = regex(r"^(?:Subject|Betreff|Asunto|Objet|Тема|主题) ?[:：] ?([^\n]*)", re.IGNORECASE | re.MULTILINE)
_OF_MAILS = regex(r"^(?:B?cc|Sent|Reply-To|Gesendet|Enviado|抄送|发送时间) ?[:：]", re.IGNORECASE | re.MULTILINE)
_REPLY = regex(r"(?:re|aw|fwd?|wg)\b", re.IGNORECASE)
"""The header of a mail; of it the day, the subject, and what no journey has; the subject of a reply says nothing new."""

_LINES_MIN = 3
"""Labelled lines, most of all lines and one of the labels at least twice, that make a message a transcript."""


class SpeakerTurn(NamedTuple):
    """A run of text with one speaker."""

    name: str
    """The label in front of it, with which the text begins; empty without one."""
    text: str
    day: str = ""
    """The day in its time stamp, as written."""


def turns(text: str) -> list[SpeakerTurn]:
    """The turns of a message: one in most of them. Linear."""
    if ":" not in text and "：" not in text:  # in each label is one
        return [SpeakerTurn("", text)]
    first = stamp(text)
    if "\n" in text:
        if (mail := _MAIL.match(text)) is not None and _is_letter(mail):
            return [_letter(mail, text)]
        lines = text.split("\n")
        labelled = [(at, found) for at, raw in enumerate(lines) if (found := stamp(raw) if first else _label(raw))]
        if _is_transcript(lines, labelled, is_stamped=first is not None):
            return _by_line(lines, labelled)
    if first is not None:
        return [_turn(first, text)]
    label = _label(text)
    return [_turn(label, text) if label is not None else SpeakerTurn("", text)]


def stamp(text: str) -> re.Match[str] | None:
    """The time stamp and the label in front of a line of an exported chat."""
    return _STAMPED.match(text) if text[:6].lstrip(" \t[(")[:1].isdigit() else None


def _label(text: str) -> re.Match[str] | None:
    """The label of a line without a time stamp."""
    return (_SPEAKER if text[:1].isascii() else _SPEAKER_ELSEWHERE).match(text)


def _is_transcript(lines: Sequence[str], labelled: Sequence[tuple[int, re.Match[str]]], *, is_stamped: bool) -> bool:
    if is_stamped:
        return len(labelled) > 1
    names = [found[1] for _, found in labelled]
    said = sum(not raw.isspace() and raw != "" for raw in lines)
    return len(names) >= _LINES_MIN and 2 * len(names) > said and len(set(names)) < len(names)


def _by_line(lines: Sequence[str], labelled: Sequence[tuple[int, re.Match[str]]]) -> list[SpeakerTurn]:
    """A turn from each label to the next; what stands in front of the first has no speaker."""
    found = [SpeakerTurn("", "\n".join(lines[: labelled[0][0]]))] if labelled[0][0] else []
    ends = [at for at, _ in labelled[1:]] + [len(lines)]
    for (at, match), end in zip(labelled, ends, strict=True):
        found.append(_turn(match, "\n".join(lines[at:end])))
    return found


def _is_letter(mail: re.Match[str]) -> bool:
    """Whether a header has what mails alone have: a journey has a start, an end and a date too."""
    return "@" in mail[0] or any(field.search(mail["rest"]) is not None for field in (_MAIL_SUBJECT, _OF_MAILS))


def _letter(mail: re.Match[str], text: str) -> SpeakerTurn:
    """What a mail says, by who wrote it, with its subject in front."""
    day, subject = _MAIL_DAY.search(mail["rest"]), _MAIL_SUBJECT.search(mail["rest"])
    about = f"{subject[1].strip()}.\n" if subject is not None and not _REPLY.match(subject[1]) else ""
    return SpeakerTurn(
        mail["name"], f"{mail['name']}: {about}{text[mail.end() :]}", day[1].strip() if day is not None else ""
    )


def _turn(found: re.Match[str], text: str) -> SpeakerTurn:
    """The turn without its time stamp, its label before an ASCII colon."""
    if found.lastgroup is None and text.startswith(":", found.end(1)):  # a label with which the text begins, as most do
        return SpeakerTurn(found[1], text)
    parts = found.groupdict()
    name = parts.get("name", found[1])
    said = text[found.start("name" if "name" in parts else 1) :]
    return SpeakerTurn(
        name.strip(), said.replace("：", ":", 1) if said.startswith("：", len(name)) else said, parts.get("day") or ""
    )
