"""What a wrapped client keeps of the client it was, and what it does with requests and answers."""

from __future__ import annotations

import gc
import json
from itertools import islice
from typing import Any

import anthropic
import httpx2
import openai
import pydantic
import pytest

import plimsoll
from plimsoll.errors import SessionNotFound, SettingError, UnsafeName

USAGE = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}


class Told:
    """A provider as a function: what it was sent, and what it answers next."""

    def __init__(self, *answers: Any) -> None:
        self.requests: list[httpx2.Request] = []
        self._answers = list(answers)

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        """Note the request and answer it."""
        self.requests.append(request)
        answer = self._answers.pop(0) if self._answers else completion("ok")
        return answer if isinstance(answer, httpx2.Response) else httpx2.Response(200, json=answer)

    @property
    def bodies(self) -> list[Any]:
        """The bodies of the requests."""
        return [json.loads(request.content) for request in self.requests]


def completion(text: str) -> Any:
    """An answer of Chat Completions."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "gpt-4o",
        "choices": [choice],
        "usage": USAGE,
    }


def events(*data: Any) -> httpx2.Response:
    """A stream of events."""
    text = "".join(f"data: {json.dumps(one)}\n\n" for one in data) + "data: [DONE]\n\n"
    return httpx2.Response(200, text=text, headers={"content-type": "text/event-stream"})


def chunks(*texts: str) -> httpx2.Response:
    """A streamed answer."""
    begin = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "gpt-4o"}
    said = [{**begin, "choices": [{"index": 0, "delta": {"role": "assistant", "content": text}}]} for text in texts]
    end = {**begin, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    return events(*said, end, {**begin, "choices": [], "usage": USAGE})


def client(told: Told, **options: Any) -> openai.OpenAI:
    """A wrapped client of that provider."""
    http = httpx2.Client(transport=httpx2.MockTransport(told))
    plain = openai.OpenAI(api_key="none", base_url="http://provider", http_client=http, max_retries=0)
    return plimsoll.wrap(plain, **{"store": "memory:", **options})


def ask(asked: openai.OpenAI, *texts: str, **fields: Any) -> Any:
    """A request with these messages, the user's and the assistant's by turns."""
    roles = ("user", "assistant")
    messages: Any = [{"role": roles[at % 2], "content": text} for at, text in enumerate(texts)]
    return asked.chat.completions.create(model="gpt-4o", messages=messages, **fields)


def said(asked: openai.OpenAI) -> list[Any]:
    """What the session holds."""
    return [message["content"] for message in plimsoll.session_of(asked).history()]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [openai.OpenAI, openai.AsyncOpenAI, anthropic.Anthropic, anthropic.AsyncAnthropic])
def test_it_is_a_client_of_its_own_kind(kind: Any) -> None:
    """An instance of the same class with the same attributes; the one given stays as it was."""
    plain = kind(api_key="none", timeout=7.0)
    made = plimsoll.wrap(plain, store="memory:")

    assert isinstance(made, kind)
    assert (type(made).__name__, made.timeout, made.api_key) == (kind.__name__, 7.0, "none")
    assert type(plain) is kind
    assert not hasattr(plain, "plimsoll")
    assert made.models is not plain.models


def test_subclasses() -> None:
    """A client of a subclass, such as of another cloud, keeps its own ways."""
    plain = openai.AzureOpenAI(api_key="none", api_version="2024-10-21", azure_endpoint="http://cloud")

    assert isinstance(plimsoll.wrap(plain, store="memory:"), openai.AzureOpenAI)


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [None, "client", object(), openai])
def test_other_things_are_refused(wrong: Any) -> None:
    """What is no client of these SDKs is refused, and so is a name that a session cannot have."""
    with pytest.raises(SettingError, match="a client of openai or anthropic"):
        plimsoll.wrap(wrong)
    with pytest.raises(UnsafeName):
        plimsoll.wrap(openai.OpenAI(api_key="none"), name="../x", store="memory:")
    with pytest.raises(SettingError, match=r"plimsoll\.wrap"):
        plimsoll.session_of(wrong)


def test_requests_and_answers_are_recorded() -> None:
    """A request that fits is sent as it is; its answer and its usage are in the session."""
    told = Told(completion("two"))
    asked = client(told)
    with pytest.raises(SessionNotFound, match="no session before its first request"):
        plimsoll.session_of(asked)
    answer = ask(asked, "one", temperature=0.5)

    assert isinstance(answer, openai.types.chat.ChatCompletion)
    assert told.bodies == [{"messages": [{"role": "user", "content": "one"}], "model": "gpt-4o", "temperature": 0.5}]
    assert said(asked) == ["one", "two"]
    assert asked.plimsoll.usage()[-1].completion_tokens == 2  # type: ignore[attr-defined]


def test_a_streamed_answer_is_recorded_when_it_ends() -> None:
    """Each event comes as the SDK gives it, and the whole answer is recorded at the end; one that is left early is not."""
    asked = client(Told(chunks("tw", "o"), chunks("th", "ree")))
    stream = ask(asked, "one", stream=True)
    assert isinstance(stream, openai.Stream)
    first = next(stream)
    assert first.choices[0].delta.content == "tw"
    assert said(asked) == ["one"]
    assert len(list(stream)) == 3
    assert said(asked) == ["one", "two"]

    with ask(asked, "one", "two", "three?", stream=True) as stream:
        next(stream)
    stream._iterator.close()
    assert said(asked) == ["one", "two", "three?"]


def test_the_helper_of_streams() -> None:
    """The SDK's own helper for streams goes through it too."""
    asked = client(Told(chunks("tw", "o")))
    with asked.chat.completions.stream(model="gpt-4o", messages=[{"role": "user", "content": "one"}]) as stream:
        assert stream.get_final_completion().choices[0].message.content == "two"

    assert said(asked) == ["one", "two"]


class Answer(pydantic.BaseModel):
    """A structured answer."""

    light: int


def test_parsed_answers() -> None:
    """So does the one for structured output."""
    asked = client(Told(completion('{"light": 7}')))
    parsed = asked.chat.completions.parse(
        model="gpt-4o", messages=[{"role": "user", "content": "one"}], response_format=Answer
    )

    assert parsed.choices[0].message.parsed == Answer(light=7)
    assert said(asked) == ["one", '{"light": 7}']


def test_raw_responses() -> None:
    """A raw response is handed out as it is; its message is recorded with the next request."""
    asked = client(Told(completion("two"), completion("four")))
    raw = asked.chat.completions.with_raw_response.create(model="gpt-4o", messages=[{"role": "user", "content": "one"}])
    assert raw.parse().choices[0].message.content == "two"
    assert said(asked) == ["one"]
    ask(asked, "one", "two", "three")

    assert said(asked) == ["one", "two", "three", "four"]


@pytest.mark.parametrize("copy", [lambda one: one.copy(timeout=3.0), lambda one: one.with_options(timeout=3.0)])
def test_copies_are_wrapped(copy: Any) -> None:
    """A copy with other options has them, and keeps the same conversation."""
    asked = client(Told(completion("two"), completion("four")))
    ask(asked, "one")
    other = copy(asked)
    ask(other, "one", "two", "three")

    assert other.timeout == 3.0
    assert said(other) == said(asked) == ["one", "two", "three", "four"]


def test_attributes_that_were_set_are_copied() -> None:
    """What was set on the client after it was wrapped is what its copies have."""
    told = Told()
    asked = client(told)
    asked.api_key = "another"
    ask(asked.with_options(max_retries=1), "one")

    assert told.requests[0].headers["authorization"] == "Bearer another"


def test_conversations_have_sessions_of_their_own() -> None:
    """Two conversations are two sessions; with a name all are one."""
    apart, together = client(Told()), client(Told(), name="all")
    for asked in (apart, together):
        ask(asked, "one")
        ask(asked, "something else")

    assert len(list(apart._plimsoll_state.conversations)) == 2  # type: ignore[attr-defined]
    assert plimsoll.session_of(together).name == "all"
    assert len(list(together._plimsoll_state.conversations)) == 1  # type: ignore[attr-defined]


TOO_LONG = {
    "error": {"message": "This model's maximum context length is 500 tokens.", "code": "context_length_exceeded"}
}


def test_what_was_too_long_is_sent_with_less() -> None:
    """A request that is refused as too long is made once more with less; if that is refused too, the error comes through."""
    too_long = httpx2.Response(400, json=TOO_LONG)
    told = Told(too_long, completion("ok"), too_long, too_long)
    asked = client(told, max_tokens=5_000)
    texts = [f"{at} " + "water " * 200 for at in range(9)]
    ask(asked, *texts)
    first, second = (plimsoll.count_tokens(body["messages"]) for body in told.bodies)

    assert second <= 900 < first
    with pytest.raises(openai.BadRequestError, match="maximum context length"):
        ask(asked, "new", *texts)
    assert len(told.bodies) == 4


@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_other_refusals_pass(status: int) -> None:
    """Any other refusal of a request that is valid comes through after one try, and the next request is as if it had not been."""
    told = Told(httpx2.Response(status, json={"error": {"message": "no"}}), completion("two"))
    asked = client(told)
    with pytest.raises(openai.APIStatusError):
        ask(asked, "one")
    ask(asked, "one")

    assert len(told.bodies) == 2
    assert said(asked) == ["one", "two"]


@pytest.mark.slow
def test_other_requests_pass() -> None:
    """Requests that carry no conversation, or one that the provider keeps, are sent as they are and not recorded."""
    item = {"object": "list", "data": [], "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}}
    kept = {"id": "r", "object": "response", "created_at": 0, "model": "m", "output": [], "status": "completed"}
    told = Told(item, kept)
    asked = client(told)
    asked.embeddings.create(model="m", input="text", encoding_format="float")
    asked.responses.create(model="m", input="hello", previous_response_id="r0")

    assert len(told.bodies) == 2
    assert len(asked._plimsoll_state.conversations) == 0  # type: ignore[attr-defined]


def test_beta_messages() -> None:
    """The beta path of Messages is kept as well."""
    message = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [{"type": "text", "text": "two"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 5, "output_tokens": 1},
    }
    told = Told(message)
    http = httpx2.Client(transport=httpx2.MockTransport(told))
    plain = anthropic.Anthropic(api_key="none", base_url="http://provider", http_client=http)
    asked = plimsoll.wrap(plain, store="memory:")
    asked.beta.messages.create(model="claude-next", max_tokens=100, messages=[{"role": "user", "content": "one"}])

    assert told.requests[0].url.path == "/v1/messages"
    assert plimsoll.session_of(asked).message_count == 2


def test_a_store_that_fails(tmp_path: Any) -> None:
    """A store that cannot be written stops no request: it is sent within the budget, with a warning."""
    (tmp_path / "file").write_text("no folder")
    told = Told()
    texts = [f"{at} " + "water " * 200 for at in range(9)]
    asked = client(told, store=str(tmp_path / "file" / "store"), max_tokens=900)
    with pytest.warns(plimsoll.errors.RequestNotManaged):
        ask(asked, *texts)

    assert plimsoll.count_tokens(told.bodies[0]["messages"]) <= 900


def test_a_wrapped_client_is_not_wrapped_again() -> None:
    """It is told so."""
    with pytest.raises(SettingError, match="wrapped already"):
        plimsoll.wrap(client(Told()))


def test_a_stream_that_nobody_reads_is_let_go_of() -> None:
    """Its conversation waits for no answer."""
    asked = client(Told(chunks("Yes.")))
    ask(asked, "Why?", stream=True)
    gc.collect()
    assert [one.awaited for one in asked._plimsoll_state.conversations] == [0]


@pytest.mark.parametrize("count", [0, 1, 9])
def test_a_stream_that_is_closed_is_let_go_of_at_once(count: int) -> None:
    """Wherever its reading stopped, and the list is of the same conversation when it is sent again."""
    asked = client(Told(chunks("Yes."), chunks("Yes.")))
    for _ in range(2):
        with ask(asked, "Why?", stream=True) as stream:
            list(islice(stream, count))
        stream.close()
        assert [one.awaited for one in asked._plimsoll_state.conversations] == [0]


def test_odd_events_reach_the_host() -> None:
    """A stream that cannot be read as an answer is passed on whole, and is not recorded."""
    odd = {"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"name": 5}}]}}
    end = {"index": 0, "delta": {}, "finish_reason": "stop"}
    asked = client(Told(events(*({"id": "x", "model": "gpt-4o", "choices": [one]} for one in (odd, end)))))
    assert len(list(ask(asked, "Why?", stream=True))) == 2
    assert [message["content"] for message in asked.plimsoll.history()] == ["Why?"]
    assert [one.awaited for one in asked._plimsoll_state.conversations] == [0]
