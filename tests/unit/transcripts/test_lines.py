"""Lines that nobody vouches for."""

import json

import pytest

from plimsoll.limits import NESTING_DEPTH_MAX
from plimsoll.transcripts import lines
from plimsoll.transcripts.source import Source


@pytest.mark.parametrize(
    "raw",
    [
        b"[" * 1_000_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b'{"a":NaN}',
        b'{"a":-Infinity}',
        b'{"a":1e999}',
        b'{"a":' + b"1" * 5_000 + b"}",
        b'{"a":"\x00"}',
        b"{",
        b"\xff\xfe{}",
        b"",
    ],
)
def test_what_is_not_strict_json_is_a_value_error(raw):
    """Depth, odd numbers, control characters and torn text are refused alike, by one kind of error."""
    with pytest.raises(ValueError, match=r".+"):
        lines.parse(raw)


def test_depth_is_counted_outside_strings_only():
    """Brackets in a text do not nest; real ones do, up to the limit."""
    quoted = json.dumps({"code": '[{"' * 500 + "\\"}).encode()
    assert lines.parse(quoted) == json.loads(quoted)
    most = NESTING_DEPTH_MAX
    assert lines.parse(b"[" * most + b"]" * most)
    with pytest.raises(ValueError, match="nested deeper"):
        lines.parse(b"[" * (most + 1) + b"]" * (most + 1))


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize("unit", [b'\\"', b'"', b"\\", b'"[', b'["\\'])
def test_looking_at_the_depth_is_linear(unit):
    """No mixture of quotes, escapes and brackets makes the look hang."""
    raw = b'{"a":"' + unit * 400_000 + b"[" * 100
    lines.too_deep(raw)


def test_separators_of_unicode_do_not_end_a_line():
    """Only a line feed ends a line."""
    row = json.dumps({"a": "x\u2028y\u0085z"}, ensure_ascii=False).encode()
    source = Source(row + b"\n" + row)
    assert list(source.lines()) == [row, row]
    assert source.whole is False


def test_bytes_that_are_not_utf8_are_read_with_a_finding():
    """The line is used, and said to be damaged."""
    entries, findings = lines.read_entries([b'{"a":"\xff"}', b'{"a":"\xef\xbf\xbd"}'])
    assert entries[0].value == {"a": "\ufffd"}
    assert [(f.kind, f.line) for f in findings] == [("not-utf8", 0)]


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_a_hundred_thousand_lines_are_read_in_one_pass():
    """A long session is read in one linear pass by each reader."""
    from plimsoll.transcripts.detect import load_file

    rows = [
        {
            "type": "user",
            "uuid": f"u{n}",
            "parentUuid": f"u{n - 1}" if n else None,
            "sessionId": "s",
            "timestamp": "2026-01-01T00:00:00.000Z",
            "message": {"role": "user", "content": f"message {n}"},
        }
        for n in range(100_000)
    ]
    data = "\n".join(map(json.dumps, rows)).encode()
    del rows
    found = load_file(data)
    assert len(found.messages) == 100_000


@pytest.mark.slow
@pytest.mark.timeout(20)
def test_one_answer_on_very_many_lines_is_read_in_one_pass():
    """Thirty thousand lines of one answer cost no more than those of many."""
    from plimsoll.transcripts.detect import load_file

    block = {"type": "text", "text": "x"}
    row = {"type": "assistant", "sessionId": "s", "message": {"id": "m", "role": "assistant", "content": [block]}}
    data = "\n".join(json.dumps(row | {"uuid": f"u{n}", "parentUuid": f"u{n - 1}"}) for n in range(30_000)).encode()
    found = load_file(data)
    assert len(found.messages) == 1
    assert len(found.messages[0].wire["content"]) == 30_000
