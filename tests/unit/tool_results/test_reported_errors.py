"""A line that reports an error is shown before the many that only mention one."""

import pytest

import plimsoll

MENTIONS = [
    f"    Handles Odd{chr(65 + n % 26)}{chr(65 + n // 26)}Error when {chr(97 + n % 26) * 5} is read" for n in range(300)
]
HITS = [
    f"HEAD:src/part{n % 40}/mod.py:{n}:    except Odd{chr(65 + n % 26)}{chr(65 + n // 26)}Error as error:"
    for n in range(300)
]


@pytest.mark.parametrize(
    ("lines", "report"),
    [
        (MENTIONS, "    ERROR: the disk of pier nine failed"),
        (MENTIONS, "    fix: ERROR: the disk of pier nine failed"),
        (HITS, "HEAD:src/part9/mod.py:77:    raise RuntimeError('the disk of pier nine failed')"),
        (HITS, "src/part9/mod.py:77:ERROR: the disk of pier nine failed"),
    ],
)
@pytest.mark.parametrize("tokens_max", [300, 1000])
def test_a_reported_error_comes_before_mentions(lines, report, tokens_max):
    """Among text and search hits that mention hundreds of errors, the line that reports one is in the preview."""
    shrunk = plimsoll.shrink("output", "\n".join([*lines[:200], report, *lines[200:]]), max_tokens=tokens_max)

    assert "pier nine" in shrunk.text
    assert plimsoll.count_tokens(shrunk.text) <= tokens_max
