"""The code of the page on frameworks runs, with a model and a tool of the test's own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import plimsoll
from ways_in.ways import is_installed

PAGE = Path(__file__).resolve().parents[2] / "docs" / "frameworks.md"
BLOCKS = re.findall(r"^```python (\w+)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def look() -> str:
    """Look at the lamps."""
    return "all is well"


def langchain() -> dict[str, Any]:
    """A model of LangChain."""
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage

    return {"model": GenericFakeChatModel(messages=iter([AIMessage("done")])), "tools": []}


def agents() -> dict[str, Any]:
    """A model of the OpenAI Agents SDK."""
    from agents.items import ModelResponse
    from agents.models.interface import Model
    from agents.tracing import set_tracing_disabled
    from agents.usage import Usage
    from openai.types.responses import ResponseOutputMessage, ResponseOutputText

    class Done(Model):
        """Says that it is done."""

        async def get_response(self, *_: Any, **__: Any) -> ModelResponse:
            """The answer."""
            said: Any = [ResponseOutputText(text="done", type="output_text", annotations=[])]
            message = ResponseOutputMessage(
                id="msg_1", content=said, role="assistant", status="completed", type="message"
            )
            return ModelResponse(output=[message], usage=Usage(), response_id=None)

        def stream_response(self, *_: Any, **__: Any) -> Any:
            """Not used."""
            raise NotImplementedError

    set_tracing_disabled(disabled=True)
    return {"model": Done(), "tools": []}


def pydantic_ai() -> dict[str, Any]:
    """A model of Pydantic AI."""
    from pydantic_ai.models.test import TestModel

    return {"model": TestModel(), "tools": [look]}


def strands() -> dict[str, Any]:
    """A model of Strands."""
    from strands.models import Model

    class Done(Model):
        """Says that it is done."""

        def get_config(self) -> Any:
            """None."""
            return {}

        def update_config(self, **_: Any) -> None:
            """Not used."""

        def structured_output(self, *_: Any, **__: Any) -> Any:
            """Not used."""
            raise NotImplementedError

        async def stream(self, *_: Any, **__: Any) -> Any:
            """The answer."""
            yield {"messageStart": {"role": "assistant"}}
            yield {"contentBlockDelta": {"delta": {"text": "done"}}}
            yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "end_turn"}}

    return {"model": Done(), "tools": []}


def agent_framework() -> dict[str, Any]:
    """A client of the Microsoft Agent Framework."""
    from agent_framework import BaseChatClient, ChatMiddlewareLayer, ChatResponse, Message

    class Done(ChatMiddlewareLayer[Any], BaseChatClient[Any]):
        """Says that it is done."""

        async def _inner_get_response(self, **_: Any) -> Any:
            return ChatResponse(messages=[Message("assistant", ["done"])])

    return {"client": Done(), "tools": []}


def litellm() -> dict[str, Any]:
    """A model of LiteLLM."""
    import litellm

    class Done(litellm.CustomLLM):
        """Says that it is done."""

        def completion(self, *_: Any, **__: Any) -> Any:
            """The answer."""
            return litellm.ModelResponse(choices=[{"message": {"role": "assistant", "content": "done"}}])

    litellm.custom_provider_map = [{"provider": "scripted", "custom_handler": Done()}]
    litellm.utils.custom_llm_setup()
    return {"model": "scripted/done"}


def llama_index() -> dict[str, Any]:
    """A model of LlamaIndex."""
    from llama_index.core.llms.mock import MockFunctionCallingLLM

    return {"llm": MockFunctionCallingLLM(), "tools": [look]}


def google_adk() -> dict[str, Any]:
    """A model of the Google Agent Development Kit."""
    from google.adk.models import BaseLlm, LlmResponse
    from google.genai.types import Content, Part

    class Done(BaseLlm):
        """Says that it is done."""

        async def generate_content_async(self, *_: Any, **__: Any) -> Any:
            """The answer."""
            yield LlmResponse(content=Content(role="model", parts=[Part(text="done")]))

    return {"model": Done(model="done"), "tools": [look]}


MODELS = {
    "langchain": langchain,
    "agents": agents,
    "pydantic_ai": pydantic_ai,
    "strands": strands,
    "agent_framework": agent_framework,
    "litellm": litellm,
    "llama_index": llama_index,
    "google_adk": google_adk,
}
MODULES = {"google_adk": "google.adk"}
"""Frameworks whose module has another name."""


@pytest.mark.parametrize(("framework", "block"), BLOCKS, ids=[framework for framework, _ in BLOCKS])
def test_code_runs(framework: str, block: str, tmp_path: Any, monkeypatch: Any) -> None:
    """A block is at most ten lines, runs, and leaves a session with what was said."""
    assert len([line for line in block.splitlines() if line]) <= 10
    if not is_installed(MODULES.get(framework, framework)):
        pytest.skip(f"{framework} is not installed: make test-frameworks")
    monkeypatch.setenv("PLIMSOLL_HOME", str(tmp_path))
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    namespace: dict[str, Any] = {"__name__": "page", **MODELS[framework]()}
    exec(compile(block, str(PAGE), "exec"), namespace)

    assert plimsoll.sessions()
    for info in plimsoll.sessions():
        with plimsoll.open(info.name, read_only=True) as session:
            assert "Look after the lamps." in str(session.history())


def test_every_adapter_has_a_block() -> None:
    """Each extra for a framework has a section with code."""
    assert [framework for framework, _ in BLOCKS] == list(MODELS)
