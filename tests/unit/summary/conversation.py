"""Small conversations for the summary tests, and a counter that needs no vocabulary."""

from __future__ import annotations

import json

from plimsoll.message import Message, Text, ToolCall, ToolResult, text_message


class Quarters:
    """Four UTF-8 bytes are a token. Monotone, additive to within one, exact for its own purpose."""

    name = "quarters"
    exact = False

    def __init__(self) -> None:
        self.calls = 0

    def count(self, text: str) -> int:
        """A token for each four bytes begun."""
        self.calls += 1
        return -(-len(text.encode("utf-8", "surrogatepass")) // 4)

    upper = count


def called(name: str, arguments: dict, result: str, *, call_id: str = "c1", text: str = "", is_error: bool = False):
    """An assistant message with one call, and its result."""
    parts = (Text(text=text),) if text else ()
    call = ToolCall(id=call_id, name=name, arguments=json.dumps(arguments, ensure_ascii=False))
    return [
        Message(role="assistant", parts=(*parts, call)),
        Message(role="tool", parts=(ToolResult(call_id=call_id, content=result, is_error=is_error),)),
    ]


ENGLISH = [
    text_message(
        "user", "Move the invoice exporter to src/export/invoice.py. Never rename the column total_due. Use port 9944."
    ),
    *called("Read", {"file_path": "src/old/export.py"}, "1\tdef export(): ...", text="I'll look first."),
    *called("Write", {"file_path": "src/export/invoice.py", "content": "def export(): ..."}, "written", call_id="c2"),
    *called(
        "Bash",
        {"command": "pytest tests/test_export.py -q"},
        "E   KeyError: 'total_due'\n1 failed, 4 passed",
        call_id="c3",
    ),
    text_message(
        "assistant", "The root cause is that `total_due` is dropped in `src/export/invoice.py`. I fixed the mapping."
    ),
    *called("Bash", {"command": "pytest tests/test_export.py -q"}, "5 passed in 0.31s", call_id="c4"),
    *called(
        "get_invoice",
        {"invoice_id": "INV-20417"},
        '{"invoice_id": "INV-20417", "amount": 412.5, "status": "open"}',
        call_id="c5",
    ),
    text_message("assistant", "Done. Should I also update the changelog?\nA. yes, under Unreleased\nB. no"),
    text_message("user", "A"),
]

CHINESE = [
    text_message("user", "请把导出模块移到 src/export/invoice.py，不要修改列名 total_due，端口必须是9944。"),
    *called("Write", {"file_path": "src/export/invoice.py", "content": "x"}, "完成"),
    *called("Bash", {"command": "pytest -q"}, "1 failed, 4 passed\n错误：找不到列 total_due", call_id="c2"),
    text_message("assistant", "根本原因是映射里缺少 total_due，已经在 src/export/invoice.py 修复。"),
]

TALK = [
    text_message("user", "[Session 1, 3 May 2024]\nNina: Hi Omar! How are you?"),
    text_message("assistant", "Omar: Great, thanks! I adopted a greyhound called Biscuit last Tuesday."),
    text_message("user", "Nina: Wow, that's amazing! I'm so happy for you!"),
    text_message("assistant", "Omar: My sister Leila flew in from Lisbon to help me paint the kitchen green."),
    text_message("user", "Nina: How lovely. I joined a workshop for clay on Thursdays."),
    text_message("assistant", "Omar: You're awesome! What will you make?"),
    text_message("user", "Nina: A blue teapot for my grandmother's 90th birthday."),
]

TALK_ZH = [
    text_message("user", "你好，知道青云阁吗？"),
    text_message("assistant", "知道呀，青云阁是一座老茶楼，始建于1905年。"),
    text_message("user", "那它的地址你知道吗？"),
    text_message("assistant", "知道，在大栅栏西街33号。"),
    text_message("user", "电话是多少？"),
    text_message("assistant", "010-5550-1234。"),
    text_message("user", "哈哈，你真厉害，谢谢你！"),
]
