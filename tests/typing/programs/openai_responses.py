"""The openai SDK's Responses."""

from __future__ import annotations

from typing import assert_type

from openai import OpenAI
from openai.types.responses import ResponseInputItemParam

import plimsoll


def one_call(client: OpenAI, items: list[ResponseInputItemParam]) -> str:
    """A fitted list is an input."""
    fitted = plimsoll.fit(items, max_tokens=8_000, model="gpt-4o")
    assert_type(fitted.messages, list[ResponseInputItemParam])
    return client.responses.create(model="gpt-4o", input=fitted.messages).output_text


def a_loop(client: OpenAI) -> None:
    """The output's items go into a session as they are."""
    with plimsoll.open("responses", model="gpt-4o", format="openai-responses", recall_tools=True) as session:
        session.append({"role": "user", "content": "hello"})
        response = client.responses.create(
            model="gpt-4o", input=session.view(), tools=session.tools("openai-responses")
        )
        session.extend(response.output)
        session.append(response)
        for item in response.output:
            if item.type == "function_call" and session.is_tool(item.name):
                answer = session.call_tool(item.name, item.arguments)
                session.append({"type": "function_call_output", "call_id": item.call_id, "output": answer})
