"""The codec: what is written reads back, what is not a record never passes for one."""

from __future__ import annotations

import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.protocols import Record, RecordDraft
from plimsoll.store.record import START, Unreadable, decode, encode, seal, spans


def line(data: object = None, **envelope: int) -> bytes:
    """An encoded record without its newline."""
    fields = {"seq": 1, "position": 0, "at_ms": 5} | envelope
    return encode(RecordDraft(kind="note", data=data or {}), **fields).removesuffix(b"\n")


def sealed(body: bytes) -> bytes:
    """A line with any body and the right checksum: what somebody would write on purpose."""
    return body + seal(body)


@pytest.mark.slow
@given(st.dictionaries(st.text(), st.text() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)))
def test_lines_are_plain_json_in_ascii(data):
    """Whatever the payload, a line is ASCII, holds one newline, and is JSON with the payload under "d"."""
    written = encode(RecordDraft(kind="note", data=data), seq=3, position=2, at_ms=-1)

    assert written.isascii()
    assert written.count(b"\n") == 1
    assert written.count(START) == 1
    assert json.loads(written)["d"] == data


def test_a_record_is_shown_without_its_line():
    """The line of a record of an unknown kind repeats what the other fields say."""
    record = Record(seq=1, position=0, kind="later", at_ms=5, data={"x": 1}, raw=b'{"n": 1}')
    assert repr(record) == (
        "Record(seq=1, position=0, kind='later', at_ms=5, data={'x': 1}, required=False, batch_left=0)"
    )


@pytest.mark.slow
@given(st.binary(max_size=200))
def test_decoding_is_total(data):
    """No bytes make the codec raise, and spans account for every byte."""
    assert isinstance(decode(data), (Record, Unreadable))
    assert sum(span.size_bytes for span in spans(data)) == len(data)


@pytest.mark.parametrize(
    "body",
    [
        b'{"n": 1}',
        b'{"n": 1, "m": 0, "k": "note", "t": 5',
        b'{"n": -1, "m": 0, "k": "note", "t": 5, "d": {}',
        b'{"n": true, "m": 0, "k": "note", "t": 5, "d": {}',
        b'{"n": 1.0, "m": 0, "k": "note", "t": 5, "d": {}',
        b'{"n": 1, "m": null, "k": "note", "t": 5, "d": {}',
        b'{"n": 1, "m": 0, "k": 7, "t": 5, "d": {}',
        b'{"n": 1, "m": 0, "k": "note", "t": 5, "d": []',
        b'{"n": 1, "m": 0, "k": "note", "t": 5, "d": {"x": NaN}',
        b'{"n": 1, "m": 0, "k": "note", "t": 5, "d": {"x": -Infinity}',
        b'{"n": 1, "m": 0, "k": "note", "t": 5, "b": -1, "d": {}',
        b'{"n": ' + b"9" * 5_000 + b', "m": 0, "k": "note", "t": 5, "d": {}',
        b'{"n": 1, "m": 0, "k": "note", "t": 5, "d": {"x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"n": 1, "m": 0, "k": "n\xc3\xa9", "t": 5, "d": {}',
    ],
)
def test_sealed_nonsense_is_unreadable(body):
    """A line with a right checksum and wrong content is a finding, not an exception and not a record."""
    assert isinstance(decode(sealed(body)), Unreadable)


def test_every_single_bit_flip_in_a_line_is_found():
    """CRC-32 finds each of the flips of one bit, in every place of a line."""
    good = line({"content": "some words \u2028 and \U0001f600"})
    for bit in range(len(good) * 8):
        changed = bytearray(good)
        changed[bit // 8] ^= 1 << bit % 8
        assert isinstance(decode(bytes(changed)), Unreadable), bit


def test_checksum_is_the_one_zlib_computes():
    """The last field is the CRC-32 of every byte before it."""
    written = line({"a": 1})
    body, _, rest = written.rpartition(b', "c": "')

    assert int(rest[:8], 16) == zlib.crc32(body)


def test_unknown_fields_of_the_envelope_are_passed_over():
    """A field of a later version does not hide the record it is in."""
    record = decode(sealed(b'{"n": 1, "m": 0, "k": "note", "t": 5, "z": [1], "d": {"a":1}'))

    assert isinstance(record, Record)
    assert record.data == {"a": 1}


def test_records_are_found_inside_damaged_lines():
    """Records glued together, or to garbage, are each found, with the garbage between them and no byte counted twice."""
    first, second = line(seq=1), line({"text": '{"n": 9, "m": 0'}, seq=2)
    glued = b"garbage" + first + b"\x0b" + second + b"\0" * 9
    found = spans(glued, 100)

    assert [(span.offset, span.size_bytes, span.record and span.record.seq) for span in found] == [
        (100, 7, None),
        (107, len(first), 1),
        (107 + len(first), 1, None),
        (108 + len(first), len(second), 2),
        (108 + len(first) + len(second), 9, None),
    ]


def test_a_payload_that_holds_a_record_is_not_searched_into():
    """A payload made of a whole record, as an object, is damaged with the record it is in and never read as one itself."""
    inner = json.loads(line({"forged": True}, seq=7))
    outer = bytearray(line({"quoted": inner}))
    outer[-4] ^= 1

    assert [span.record for span in spans(bytes(outer))] == [None]


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "unit", [START, b'{"n": 1, "m": ', b', "c": "00000000"}', START + b', "c": "00000000"}', b"\0", b'"']
)
def test_searching_damage_is_linear(unit):
    """The worst that can be searched does not hang the search."""
    data = unit * (2_000_000 // len(unit))

    assert sum(span.size_bytes for span in spans(data)) == len(data)
