"""The text of an HTML page: its title, headings, paragraphs, items and rows of tables, a line each."""

from __future__ import annotations

import re

from plimsoll.light.regex import regex

_PAGE = regex(
    r"\s*(?:<\?xml[^>]{0,200}>\s*)?(?:<!--.{0,2000}?-->\s*)?<(?:!doctype html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
)
_UNSEEN = regex(r"<(!--|script|style|svg|noscript|template)\b|<!--", re.IGNORECASE)
_TAG = regex(r"<(/?)([A-Za-z][A-Za-z0-9]{0,20})\b[^<>]{0,10000}>|<[!?/][^<>]{0,10000}>")
_SPACES = regex(r"[ \t\f\v\u00a0]{2,}|[\t\u00a0]")
_BEFORE = {
    "title": "\n# ",
    **{f"h{level}": f"\n{'#' * level} " for level in range(1, 7)},
    "li": "\n- ",
    "td": " | ",
    "th": " | ",
    "summary": "\n",
    **dict.fromkeys(
        "p div section article header footer main nav aside ul ol dl dt dd table tr pre blockquote form br hr body".split(),
        "\n",
    ),
}
_AFTER = frozenset(
    {"title", "h1", "h2", "h3", "h4", "h5", "h6", "li", "p", "div", "tr", "table", "pre", "section", "dt", "dd"}
)


def is_page(text: str) -> bool:
    """Whether a text is an HTML page, by its beginning."""
    return _PAGE.match(text[:4_000]) is not None


def text_of_page(page: str) -> str:
    """The lines that a reader of the page sees. Takes linear time, also for damaged pages."""
    import html  # noqa: PLC0415 - its table of names is large, and few results are pages

    text = _TAG.sub(_replacement, _without_unseen(page))
    lines = (_SPACES.sub(" ", line).strip() for line in html.unescape(text).split("\n"))
    return "\n".join([line for line in lines if line and line not in _NOTHING])


_NOTHING = frozenset({"-", "|", "#", "##", "###", "####", "#####", "######"})


def _replacement(tag: re.Match[str]) -> str:
    name = (tag[2] or "").lower()
    if tag[1]:
        return "\n" if name in _AFTER else ""
    return _BEFORE.get(name, "")


def _without_unseen(page: str) -> str:
    """The page without scripts, styles, drawings and comments."""
    lower, kept, at = page.lower(), [], 0
    if len(lower) != len(page):  # some letters grow in lower case; the tags do not
        lower = page
    while found := _UNSEEN.search(lower, at):
        kept.append(page[at : found.start()])
        name = found[1]
        end = lower.find("-->" if name in {None, "!--"} else f"</{name}", found.end())
        if end < 0:
            return "\n".join(kept) + page[found.end() :] if name in {None, "!--"} else "\n".join(kept)
        at = page.find(">", end) + 1 or len(page)
    return "\n".join([*kept, page[at:]])
