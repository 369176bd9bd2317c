"""Days in headings, and words that mean another day from there."""

from __future__ import annotations

import datetime as dt

import pytest

from plimsoll.summary.ledger.dates import day_in, is_day, resolved, shown, with_year, without_year


@pytest.mark.parametrize(
    "heading",
    ["Session 3, 4:41 pm on 8 May, 2023", "May 8th, 2023", "2023/05/08 (Mon) 02:21", "2023-05-08", "2023年5月8日 周一"],
)
def test_a_day_is_read_however_it_is_written(heading: str) -> None:
    """The usual ways to write a day with its year, and what they are shown as is read again."""
    day = day_in(heading)

    assert day == dt.date(2023, 5, 8)
    assert day_in(shown(day, "en")) == day_in(shown(day, "zh")) == day


@pytest.mark.parametrize("heading", ["", "Session 3", "8 May", "32 May 2023", "2023-13-01", "version 12023.05.081"])
def test_what_names_no_day_is_none(heading: str) -> None:
    """A heading without a year, and numbers that are no date."""
    assert day_in(heading) is None


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("met Ana yesterday", "met Ana 31 Dec"),
        ("Last night slept badly", "31 Dec night slept badly"),
        ("leave tomorrow", "leave 2 Jan"),
        ("moved last year, again next month", "moved 2023, again Feb"),
        ("bought it last month", "bought it Dec"),
        ("ran last Monday and last Sun", "ran Mon 25 Dec and Sun 31 Dec"),
        ('sang "Yesterday", feels like yesterday', 'sang "Yesterday", feels like yesterday'),
        ("last Mondays' news; last week; lasting", "last Mondays' news; last week; lasting"),
        (
            "meets on the last Wednesday of the month, the last year of school",
            "meets on the last Wednesday of the month, the last year of school",
        ),
        ("stay for the last night", "stay for the last night"),
        ("昨天去了，去年买的，下个月还", "12月31日去了，2023年买的，2月还"),
    ],
)
def test_relative_days_are_said_as_the_days_they_mean(text: str, meant: str) -> None:
    """From Monday, 1 January 2024, over the turn of the year; titles and figures of speech stay."""
    assert resolved(text, dt.date(2024, 1, 1)) == meant


@pytest.mark.parametrize(
    ("before", "heading", "short"),
    [
        ("28 Dec 2022", "8 May 2023", "8 May 2023"),
        ("3 Jan 2023", "8 May 2023", "8 May"),
        ("2023-1-3", "2023-5-8", "5-8"),
        ("Session 2", "8 May 2023", "8 May 2023"),
        ("8 May 2023", "Session 3", "Session 3"),
        ("", "8 May 2023", "8 May 2023"),
    ],
)
def test_a_year_is_said_once_and_read_again(before: str, heading: str, short: str) -> None:
    """A day of the year of the day before it is shown without it, and gets it back when a summary is read."""
    assert without_year(heading, before) == short
    assert with_year(short, before) == heading


def test_no_day_is_before_the_first_nor_after_the_last() -> None:
    """At the ends of the calendar the words stay."""
    assert resolved("yesterday", dt.date.min) == "yesterday"
    assert resolved("明天", dt.date.max) == "明天"


@pytest.mark.parametrize(
    ("line", "is_heading"),
    [
        ("Session 2 on Sunday, 12 May 2024 at 4:05 pm", True),
        ("Date: 2024-05-12T04:05", False),
        ("日期：2024年5月12日 星期日 上午10时", True),
        ("I was born on 3 June 1990.", False),
        ("2024-05-12 release", False),
    ],
)
def test_a_line_of_a_day_says_nothing_else(line: str, is_heading: bool) -> None:
    """A sentence with a date in it is no heading."""
    assert is_day(line) == is_heading
