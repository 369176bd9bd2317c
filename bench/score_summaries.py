"""How much of recorded conversations the rule-made summary keeps, alone and beside the newest messages.

    python bench/score_summaries.py [--families locomo,kdconv_zh] [--show ID]

Reads the conversations beside the checkout (../shared/evals). `kept` is the scorer's string measure; `linked` asks for the
answer's words on one line of the text together with the question's, which is nearer to what a reader can use.
"""

from __future__ import annotations

import argparse
import collections
import json
import re
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from evals import scorer  # noqa: E402
from plimsoll.message import Message, Part, Text, ToolCall, ToolResult  # noqa: E402
from plimsoll.summary.ledger import Ledger, extend  # noqa: E402
from plimsoll.summary.rules import render  # noqa: E402


class Estimate:
    """The scorer's own token estimate as a counter, so that ratios are the scorer's."""

    name, exact = "scorer", False

    def __init__(self, module):
        self.count = self.upper = module.est_tokens


def decode(message) -> Message:
    parts: list[Part] = []
    content = message.get("content") or ""
    if message["role"] == "tool":
        parts.append(ToolResult(call_id=message.get("tool_call_id", ""), content=content))
    elif content:
        parts.append(Text(text=content))
    for call in message.get("tool_calls") or []:
        arguments = call["function"].get("arguments", "")
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        parts.append(ToolCall(id=call["id"], name=call["function"]["name"], arguments=arguments))
    return Message(role=message["role"], parts=tuple(parts))


def linked(module, probe, text) -> bool:
    """Whether one line holds most of the answer's words, and its subject where the line is not about everything."""
    if probe["check"] != "evidence" and not probe["kind"].startswith("kdconv"):
        return module.found(probe, module.Context([text]))
    lines = [module.norm(line) for line in text.split("\n")]
    answer = module.norm(probe["answer"])
    if probe["kind"].startswith("kdconv"):
        subject = re.sub(r"（.*?）", "", probe["question"].rsplit("的", 1)[0]).lower()
        return any(answer.rstrip("。 ") in line and subject in line for line in lines)
    said = set(module.words(" ".join(probe["evidence_text"])))
    need = set(module.words(probe["answer"])) & said or said
    return any(len(need & set(module.words(line))) >= 0.6 * len(need) for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--families", default="")
    parser.add_argument("--show", default="")
    parser.add_argument("--fractions", default="0.10,0.25")
    options = parser.parse_args()
    module = scorer()
    counter = Estimate(module)
    totals: dict[tuple[str, str], collections.Counter] = collections.defaultdict(collections.Counter)
    spent = collections.Counter()
    for conversation in module.load("dev", set(filter(None, options.families.split(",")))):
        if options.show and options.show not in conversation["id"]:
            continue
        for fraction in map(float, options.fractions.split(",")):
            for cut in (None, "50"):
                measure(
                    module, counter, conversation, fraction, cut, totals, spent, show=bool(options.show) and cut is None
                )
    print(
        f"{'view':<24}{'family':<14}{'n':>6}{'ratio':>8}{'kept%':>8}{'linked%':>9}  needed next, identifiers used later"
    )
    for (view, family), count in sorted(totals.items()):
        n = count["n"] or 1
        extra = (
            f"{count['nn_kept']}/{count['nn']}  ids {count['ids_used']}/{count['ids']}"
            if count["ids"] or count["nn"]
            else ""
        )
        print(
            f"{view:<24}{family:<14}{count['n']:>6}{count['after'] / max(1, count['before']):>8.3f}{100 * count['kept'] / n:>8.1f}"
            f"{100 * count['linked'] / n:>9.1f}  {extra}"
        )
    print({key: round(value, 2) for key, value in spent.items()})


def measure(module, counter, conversation, fraction, cut, totals, spent, *, show) -> None:  # noqa: PLR0913, PLR0917 - one measurement
    upto = conversation["cuts"].get(cut) if cut else None
    if cut and (not upto or upto < 8):
        return
    messages = conversation["messages"][:upto] if upto else conversation["messages"]
    total = sum(module.msg_tokens(message) for message in messages)
    began = time.perf_counter()
    ledger = extend(Ledger.empty(), [decode(message) for message in messages], 0)
    spent["extend_s"] += time.perf_counter() - began
    budget = int(total * fraction)
    views = {
        "alone": alone(ledger, counter, budget, spent),
        "beside": beside(module, ledger, counter, messages, fraction, spent),
    }
    if show:
        print(views["alone"][0]["content"])
    for view, compacted in views.items():
        result = module.score(conversation, compacted, upto=upto)
        text = "\n".join(module.msg_text(message) for message in compacted)
        probes = {probe["id"]: probe for probe in conversation["probes"]}
        counts = collections.Counter(
            n=result["total"]["n"], kept=result["total"]["kept"], before=result["tokens_before"], after=result["tokens_after"],
            linked=sum(linked(module, probes[row["id"]], text) for row in result["probes"]),
        )  # fmt: skip
        if upto:
            listed, used = module.identifier_precision(conversation, compacted, upto)
            counts.update(
                ids=listed, ids_used=used, nn=result["needed_next"]["n"], nn_kept=result["needed_next"]["kept"]
            )
        name = f"{view} {fraction:.0%}" + (f" cut{cut}" if cut else "")
        for family in (conversation["family"], "ALL"):
            totals[name, family].update(counts)


def alone(ledger, counter, budget, spent):
    began = time.perf_counter()
    rendered = render(ledger, tokens_max=budget - 4, counter=counter, covers=(0, ledger.end))
    spent["render_s"] += time.perf_counter() - began
    assert rendered.tokens <= budget
    spent["unused_share"] += max(0.0, 1 - rendered.tokens / max(1, budget - 4))
    spent["renders"] += 1
    return [{"role": "user", "content": rendered.text}]


def beside(module, ledger, counter, messages, fraction, spent):  # noqa: PLR0913, PLR0917 - one view
    tail = [message for message in module.recency(messages, fraction * 0.3) if message["role"] != "system"]
    used = sum(module.msg_tokens(message) for message in tail)
    budget = int(sum(module.msg_tokens(message) for message in messages) * fraction) - used
    return alone(ledger, counter, max(30, budget), spent) + tail


if __name__ == "__main__":
    main()
