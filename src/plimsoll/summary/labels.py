"""Fixed strings of a rendered summary in English and Chinese, and detection of a ledger's language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from plimsoll.light.brief import pluralize
from plimsoll.light.dataclass import dataclass
from plimsoll.truncation.marker import han_chars

if TYPE_CHECKING:
    from plimsoll.summary.frame import Language
    from plimsoll.summary.ledger import Kind, Ledger

_SAMPLE_FACTS = 40  # of each kind, enough to tell the script


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """Section titles and fixed words in one language."""

    language: Language
    sections: dict[str, str]
    kinds: dict[Kind | Literal["fact"], str]
    """Singular name of each kind of fact; `fact` covers all kinds."""
    counts: str
    """Format fields: `{numbers}`, `{user}`, `{assistant}` and `{tool}`."""
    fixed: str
    failed: str
    reply_to: str
    user: str
    """Prefix of the user's statements on a line with the assistant's. One token, because it is repeated for every fact."""
    languages: str
    left_out: str
    separator: str


ENGLISH = Labels(
    language="en",
    sections={
        "request": "User requests (verbatim, in order):",
        "cut request": "User requests (verbatim, in order; [+n]: n more characters):",
        "constraint": "User constraints (verbatim):",
        "decision": "Conclusions (assistant):",
        "modified": "Files modified:",
        "read": "Other files read or listed:",
        "symbol": "Names in code, by file:",
        "command": "Commands run:",
        "error": "Errors seen (tool output):",
        "identifier": "Values from tools (data):",
        "topic": "Topics: ",
        "told": "Said by the user:",
        "chat": "Said in the conversation:",
        "peers": "Said by user and assistant:",
        "work": "Open work:",
        "activity": "Latest steps (assistant):",
    },
    kinds={
        "request": "request", "constraint": "constraint", "decision": "finding", "file": "file", "command": "command",
        "error": "error", "identifier": "value", "symbol": "name", "work": "work item", "chat": "statement", "fact": "fact",
    },
    counts="Messages {numbers}({user} user, {assistant} assistant, {tool} tool).",
    fixed="fixed later",
    failed="FAILED",
    reply_to="reply to",
    user="",
    languages="Code:",
    left_out="Left out: {list}.",
    separator=", ",
)  # fmt: skip

CHINESE = Labels(
    language="zh",
    sections={
        "request": "用户请求（原文，按顺序）：",
        "cut request": "用户请求（原文，按顺序；[+n]：另有n字）：",
        "constraint": "用户约束（原文）：",
        "decision": "关键结论（助手）：",
        "modified": "已修改文件：",
        "read": "已读或列出的文件：",
        "symbol": "代码中的名称（按文件）：",
        "command": "已运行命令：",
        "error": "出现的错误（工具输出）：",
        "identifier": "工具返回的值（数据）：",
        "topic": "讨论主题：",
        "told": "用户所述：",
        "chat": "对话中的事实：",
        "peers": "对话中的事实（“>”后是用户说的）：",
        "work": "未完成的工作：",
        "activity": "最近步骤（助手）：",
    },
    kinds={
        "request": "条请求", "constraint": "条约束", "decision": "条结论", "file": "个文件", "command": "条命令",
        "error": "条错误", "identifier": "个值", "symbol": "个名称", "work": "项工作", "chat": "条陈述", "fact": "条",
    },
    counts="消息{numbers}（用户{user}，助手{assistant}，工具{tool}）。",
    fixed="后已修复",
    failed="失败",
    reply_to="答",
    user=">",
    languages="代码：",
    left_out="未列出：{list}。",
    separator="，",
)  # fmt: skip


_BY_SEVERAL = {"User ": "Users' ", "(assistant)": "(assistants)", "用户": "各用户", "（助手）": "（各助手）"}


def by_several(title: str) -> str:
    """Return the title of a section whose items begin with the names of those who said them."""
    return next((title.replace(one, several) for one, several in _BY_SEVERAL.items() if one in title), title)


def number_of(kind: Kind | Literal["fact"], number: int, words: Labels) -> str:
    """`1 finding`, `2 findings`, `2 条结论`."""
    return pluralize(number, words.kinds[kind], words.kinds[kind] if words is CHINESE else "").replace(",", "")


def labels(language: Language) -> Labels:
    """Return the fixed strings of a language."""
    return CHINESE if language == "zh" else ENGLISH


def dominant(ledger: Ledger) -> Language:
    """Return `zh` if at least a fifth of the characters in requests and dialogue are Han, and it is not Japanese, else `en`."""
    facts = [*ledger.of("request")[:_SAMPLE_FACTS], *ledger.of("chat")[:_SAMPLE_FACTS], *ledger.of("decision")[:10]]
    text = "".join(fact.text[:400] for fact in facts)
    return "zh" if 5 * han_chars(text) >= max(1, len(text)) else "en"
