"""`plimsoll eval`: how much of what is needed next each way of compacting keeps, at equal size."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import plimsoll
from plimsoll.cli.options import add_model, option
from plimsoll.cli.output import Refused, WrongUsage, note, print_json, say, show, working
from plimsoll.report.terminal import line, table

KINDS_SHOWN = "request constraint decision value file outcome error statement".split()

ABOUT = (
    "Cuts each conversation, compacts the first part each way to the same number of tokens, and looks for answers to "
    "questions that are made from the conversation without a model. `ours` is a session's view; it is also asked one "
    "query for each question that the view does not answer."
)


def add(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    parser.add_argument(
        "files", metavar="FILE", nargs="*", help="conversations and session files of other tools, or folders of them"
    )
    option(
        parser,
        "--against WAY",
        "compare with recency, clear-tool-results, summary:FILE or 'command:PROGRAM'; may be repeated (default: recency)",
        action="append",
        default=None,
    )
    option(parser, "--share R", "size of the result, of the tokens before it (default: 0.1)", type=_ratio, default=0.1)
    option(parser, "--cut R", "where the conversation is cut (default: 0.5, the middle)", type=_ratio, default=0.5)
    add_model(parser)
    option(parser, "--policy P", "the policy of `ours` (default: fill)", default="fill")
    option(parser, "--blind OUT", "also write sheets for blind reading into this new folder")
    option(parser, "--grade OUT", "do the next step of such a folder: the sheet to grade, then the result")


def _ratio(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"a number above 0 and up to 1 is needed, not {ascii(text)[:40]}")
    return value


def run(arguments: argparse.Namespace) -> None:
    """Measure and show."""
    if bool(arguments.files) == bool(arguments.grade):
        raise WrongUsage("name the files to measure, or a folder of sheets with --grade")
    if arguments.grade:
        _grade(arguments)
        return
    with working("measuring"):
        evaluation = plimsoll.evaluate(
            arguments.files,
            against=arguments.against or ["recency"],
            share=arguments.share,
            cut=arguments.cut,
            model=arguments.model,
            policy=arguments.policy,
        )
    for name, reason in evaluation.skipped.items():
        note(f"{name} was not measured: {reason}")
    if not evaluation.conversations:
        raise Refused("nothing was measured")
    questions = plimsoll.write_sheets(evaluation, arguments.blind) if arguments.blind else 0
    if arguments.json:
        print_json(evaluation.to_dict())
        return
    _show(evaluation)
    if questions:
        say(f"{questions} questions for blind readers are in {arguments.blind}; its README.txt says how to go on")


def _show(evaluation: plimsoll.Evaluation) -> None:
    size = sum(asked.tokens for asked in evaluation.conversations)
    show(
        line(
            f"{evaluation!r}; {size:,} tokens before the cuts, budget {evaluation.share:.0%} of them and the system text",
            "bold",
        ),
        line(""),
    )
    columns = ["way", "kept", "kept or recalled", "needed next", "identifiers used later", "tokens", "seconds"]
    show(table(columns, map(_row, evaluation.scores)), line(""), line("kept by kind of probe", "bold"))
    ways = [score.way for score in evaluation.scores]
    show(table(["kind", "probes", *ways], _kinds(evaluation)))
    for score in evaluation.scores:
        if score.failed or score.over_budget:
            reason = next((found.error for found in evaluation.outcomes if found.way == score.way and found.error), "")
            note(
                f"{score.way}: failed {score.failed} times, exceeded the budget {score.over_budget} times"
                f"{'; first: ' if reason else ''}{reason}"
            )


def _row(score: plimsoll.WayScore) -> list[str]:
    precision = score.identifier_precision
    return [
        score.way,
        _with_interval(score.kept, score.kept_interval),
        "-"
        if score.found is None or score.found_interval is None
        else _with_interval(score.found, score.found_interval),
        f"{score.needed_next.kept} of {score.needed_next.total}",
        "-" if precision is None else f"{precision:.0%}",
        f"{score.tokens_mean:,.0f}",
        f"{score.time_s:.2f}",
    ]


def _with_interval(share: float, interval: tuple[float, float]) -> str:
    return f"{share:.0%} ({interval[0]:.0%} to {interval[1]:.0%})"


def _kinds(evaluation: plimsoll.Evaluation) -> Iterator[list[str]]:
    for kind in KINDS_SHOWN:
        tallies = [score.by_kind.get(kind) for score in evaluation.scores]
        if tallies[0] is not None:
            yield [kind, str(tallies[0].total), *(f"{tally.kept_share:.0%}" if tally else "-" for tally in tallies)]


def _grade(arguments: argparse.Namespace) -> None:
    result = plimsoll.grade_sheets(arguments.grade)
    if arguments.json:
        print_json({"missing": result.missing, "means": dict(result.means), "answers": result.answers})
    elif result.missing is not None:
        say(f"{arguments.grade}/{result.missing} is missing; README.txt beside it says what goes into it")
    else:
        for way, mean in result.means.items():
            say(f"{way}: {mean:.2f}")
