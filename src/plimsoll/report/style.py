"""How the page looks: light and dark, wide and on a phone."""

from __future__ import annotations

KINDS = {
    "text": "#3b6fd4",
    "tool results": "#2f9e6e",
    "tool calls": "#8bbf3f",
    "reasoning": "#b06fd0",
    "images": "#e0a030",
    "files": "#c8803c",
    "audios": "#c85c8c",
    "provider parts": "#7a8aa0",
    "tool definitions": "#d06a4a",
    "not in this file": "#a0a4ad",
    "framing": "#c9ccd3",
}
"""The colour of each kind of content, in the order of the legend."""


def kind_class(kind: str) -> str:
    """The class of a kind; what has no colour of its own has the plain one."""
    return f"k{list(KINDS).index(kind)}" if kind in KINDS else "k"


_COLOURS = "\n".join(f"i.{kind_class(kind)} {{ background: {colour} }}" for kind, colour in KINDS.items())

STYLE = f"""
:root {{ --ink: #1b1d21; --dim: #666c78; --line: #dfe2e8; --soft: #f3f4f7; --paper: #fff; --red: #d0433f; --blue: #3b6fd4 }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #dcdfe6; --dim: #969cab; --line: #31353f; --soft: #1f232b; --paper: #14161b;
--red: #ef6f6a; --blue: #7aa2f7 }} }}
* {{ box-sizing: border-box }}
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 72em; padding: 0 1em; color: var(--ink);
background: var(--paper); overflow-wrap: anywhere }}
h1 {{ font-size: 1.4em; margin: 0 0 .2em }} h2 {{ font-size: 1.1em; margin: 2em 0 .4em }}
.size {{ font-size: 1.1em; margin: 0 0 .6em }} .dim {{ color: var(--dim); margin: .3em 0 }}
.track {{ display: block; position: relative; height: 1em; background: var(--soft); border-radius: 3px; overflow: hidden;
white-space: nowrap; font-size: .85em; min-width: 6em }}
.track i {{ display: inline-block; height: 100%; vertical-align: top; min-width: 1px }}
.track i, .legend i {{ background: var(--blue) }}
.track b {{ position: absolute; top: 0; bottom: 0; border-left: 2px solid var(--red) }}
.size + .track {{ height: 1.8em }}
.legend {{ display: flex; flex-wrap: wrap; gap: .2em 1.2em; font-size: .85em; color: var(--dim) }}
.legend i {{ display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin-right: .4em; vertical-align: -.05em }}
.chart {{ width: 100%; height: auto; display: block }}
.chart .grid {{ stroke: var(--line) }} .chart .limit {{ stroke: var(--red); stroke-dasharray: 5 4 }}
.chart .tick {{ fill: var(--dim); font-size: 12px }} .chart .line {{ fill: none; stroke: var(--blue); stroke-width: 1.5 }}
.chart .area {{ fill: var(--blue); opacity: .14 }} .chart .dot {{ fill: var(--blue); opacity: .25 }}
.chart .dot:hover {{ opacity: 1 }}
.chart .cut {{ stroke: var(--red); stroke-width: 1.5 }} .chart .cutdot {{ fill: var(--red) }}
.strips details {{ border-top: 1px solid var(--line) }} .strips details[open] {{ padding-bottom: .6em }}
.strips summary {{ display: grid; grid-template-columns: 7em 7em 4.5em 13em 6.5em 1fr; gap: .6em; align-items: center;
cursor: pointer; list-style: none; padding: .15em 0 }}
.strips summary:hover {{ background: var(--soft) }} .strips summary::-webkit-details-marker {{ display: none }}
.name {{ font-variant-numeric: tabular-nums; font-weight: 600 }} .role {{ color: var(--dim) }}
.begins {{ white-space: nowrap; overflow: hidden; text-overflow: ellipsis; color: var(--dim) }}
.fate {{ color: var(--dim); font-size: .85em }}
.fate.summarise, .fate.drop {{ color: var(--red) }}
table {{ border-collapse: collapse; width: 100% }} .scroll {{ overflow-x: auto }}
th, td {{ text-align: left; padding: .2em .8em .2em 0; border-bottom: 1px solid var(--line); vertical-align: top }}
td {{ max-width: 36em }} .n {{ text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums }}
pre {{ white-space: pre-wrap; background: var(--soft); padding: .8em; margin: .4em 0; font-size: .85em; border-radius: 4px;
max-height: 40em; overflow: auto }}
@media (max-width: 45em) {{ .strips summary {{ grid-template-columns: 7em 1fr 4em 6.5em; }}
.strips .track {{ grid-column: 1 / -1; grid-row: 2 }} .begins {{ grid-column: 1 / -1; white-space: normal }} }}
{_COLOURS}
"""
"""All of it; nothing is fetched."""
