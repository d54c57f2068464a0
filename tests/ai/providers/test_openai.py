"""Endpoints that speak OpenAI's dialect."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel, SecretStr

from gateleg.ai import Assistant, Delta, KeyMissing, Message, Models, ModelSettings, System, Tool, ToolCall, ToolResult, User
from gateleg.ai.errors import ContextExceeded, InvalidModelResponse, ModelAccessDenied, StreamBroken
from gateleg.ai.replies import CallDelta
from tests.ai.driving import Asker
from tests.ai.speaking import asked, events, head, said, streamed
from tests.net.http.faulty import answer, service

Asking = Callable[..., Asker]
WEATHER = Tool("weather", "The weather of a city", {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]})
USAGE = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11, "prompt_tokens_details": {"cached_tokens": 4}}


def completion(finish: str = "stop", **message: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": None} | message, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion", "model": "gpt-x-1", "choices": [choice], "usage": USAGE}


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {
        "id": "c1",
        "object": "chat.completion.chunk",
        "model": "gpt-x-1",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


def test_reply_has_text_finish_usage_and_model(asker: Asking) -> None:
    with service(said(completion(content="Hello there"))) as server:
        reply = asker(f"openai:gpt-x@{server.url}/v1").reply([User("Hi")])
    assert (reply.text, reply.finish, reply.model) == ("Hello there", "stop", "gpt-x-1")
    assert (reply.usage.input, reply.usage.output, reply.usage.cached, reply.usage.cost) == (9, 2, 4, None)


def test_request_is_written_as_documented(asker: Asking) -> None:
    with service(said(completion(content="x"))) as server:
        asker(f"openai:gpt-x@{server.url}/v1", key="k").reply(
            [System("Be brief."), User("Hi")], temperature=0.5, max_tokens=7, seed=3, stop=["\n"], tools=[WEATHER], tool_choice="weather"
        )
    assert head(server).startswith("post /v1/chat/completions http/1.1")
    assert "authorization: bearer k" in head(server)
    assert asked(server) == {
        "model": "gpt-x",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
        "stream": False,
        "temperature": 0.5,
        "max_tokens": 7,
        "seed": 3,
        "stop": ["\n"],
        "tools": [
            {"type": "function", "function": {"name": "weather", "description": WEATHER.description, "parameters": WEATHER.parameters}}
        ],
        "tool_choice": {"type": "function", "function": {"name": "weather"}},
    }


def test_tool_calls_and_their_results_go_back_and_forth(asker: Asking) -> None:
    call = {"id": "call_9", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
    with service(said(completion("tool_calls", tool_calls=[call])), said(completion(content="Cold."))) as server:
        asks = asker(f"openai:gpt-x@{server.url}")
        first = asks.reply([User("Weather?")], tools=[WEATHER])
        assert first.finish == "tools"
        assert first.calls == (ToolCall("call_9", "weather", '{"city": "Oslo"}'),)
        assert first.calls[0].arguments == {"city": "Oslo"}
        asks.reply([User("Weather?"), first.message, ToolResult("call_9", "weather", "-3")], tools=[WEATHER])
    assert asked(server)["messages"][1:] == [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_9", "content": "-3"},
    ]


def test_stream_says_pieces_and_then_the_whole(asker: Asking) -> None:
    usage = {"id": "c1", "model": "gpt-x-1", "choices": [], "usage": USAGE}
    with service(events(chunk(role="assistant", content=""), chunk(content="Hel"), chunk(content="lo"), chunk("stop"), usage)) as server:
        deltas = asker(f"openai:gpt-x@{server.url}").stream([User("Hi")])
    assert asked(server)["stream_options"] == {"include_usage": True}
    assert [delta.text for delta in deltas] == ["Hel", "lo", ""]
    last = deltas[-1].reply
    assert last is not None
    assert (last.text, last.finish, last.usage.output) == ("Hello", "stop", 2)


def test_streamed_tool_calls_are_put_together(asker: Asking) -> None:
    parts = [
        chunk(tool_calls=[{"index": 0, "id": "a", "type": "function", "function": {"name": "weather", "arguments": ""}}]),
        chunk(tool_calls=[{"index": 0, "function": {"arguments": '{"city":'}}]),
        chunk(tool_calls=[{"index": 1, "id": "b", "function": {"name": "weather", "arguments": '{"city":"Rome"}'}}]),
        chunk(tool_calls=[{"index": 0, "function": {"arguments": ' "Oslo"}'}}]),
        chunk("tool_calls"),
    ]
    with service(events(*parts)) as server:
        deltas = asker(f"openai:gpt-x@{server.url}").stream([User("Weather?")], tools=[WEATHER])
    assert deltas[1] == Delta(call=CallDelta(0, text='{"city":'))
    reply = deltas[-1].reply
    assert reply is not None
    assert reply.finish == "tools"
    assert reply.calls == (ToolCall("a", "weather", '{"city": "Oslo"}'), ToolCall("b", "weather", '{"city":"Rome"}'))


def test_reasoning_is_kept_apart(asker: Asking) -> None:
    with service(events(chunk(reasoning_content="Hm."), chunk(content="Yes"), chunk("stop"))) as server:
        reply = asker(f"openai:r@{server.url}").stream([User("?")])[-1].reply
    assert reply is not None
    assert (reply.text, reply.reasoning) == ("Yes", "Hm.")


def test_stream_that_breaks_after_its_first_words_is_not_tried_again(asker: Asking) -> None:
    with service(events(chunk(content="Once upon"), done=False, whole=False, end="close")) as server:
        asks = asker(f"openai:gpt-x@{server.url}")
        with pytest.raises(StreamBroken) as failed:
            asks.stream([User("A tale")])
    assert failed.value.text == "Once upon"
    assert len(server.requests) == 1


def test_stream_without_an_end_is_broken(asker: Asking) -> None:
    with service(events(chunk(content="Half"))) as server, pytest.raises(StreamBroken, match="before the reply was complete"):
        asker(f"openai:gpt-x@{server.url}").stream([User("Hi")])


def test_stream_that_fails_before_its_first_words_is_tried_again(asker: Asking) -> None:
    with service(said({"error": {"message": "busy"}}, 503), events(chunk(content="Yes"), chunk("stop"))) as server:
        deltas = asker(f"openai:gpt-x@{server.url}").stream([User("Hi")])
    assert [delta.text for delta in deltas] == ["Yes", ""]


def test_error_in_the_middle_of_a_stream_is_told(asker: Asking) -> None:
    error = {"error": {"message": "overloaded", "code": "x"}}
    with service(events(chunk(content="So"), error)) as server, pytest.raises(StreamBroken, match="overloaded"):
        asker(f"openai:gpt-x@{server.url}").stream([User("Hi")])


def test_denied_key_is_told_and_not_shown(asker: Asking) -> None:
    error = {"error": {"message": "Incorrect API key provided: sk-secret", "code": "invalid_api_key"}}
    with service(said(error, 401)) as server, pytest.raises(ModelAccessDenied) as failed:
        asker(f"openai:gpt-x@{server.url}", key="sk-secret").reply([User("Hi")])
    assert "invalid_api_key" in str(failed.value)
    assert "sk-secret" not in str(failed.value)


def test_too_long_a_conversation_is_told_as_such(asker: Asking) -> None:
    error = {"error": {"message": "This model's maximum context length is 8192 tokens.", "code": "context_length_exceeded"}}
    with service(said(error, 400)) as server, pytest.raises(ContextExceeded):
        asker(f"openai:gpt-x@{server.url}").reply([User("Hi")])


@pytest.mark.parametrize("body", [b"<html>hello</html>", b"[1]", b'{"choices": []}', b'{"choices": [{"message": 3}]}', b"{", b""])
def test_answer_of_another_form_is_a_bad_one(asker: Asking, body: bytes) -> None:
    with service(answer(body)) as server, pytest.raises(InvalidModelResponse):
        asker(f"openai:gpt-x@{server.url}").reply([User("Hi")])


def test_broken_json_in_a_stream_is_a_bad_answer(asker: Asking) -> None:
    with service(streamed([b'data: {"choices": [}\n\n'], "text/event-stream")) as server, pytest.raises(InvalidModelResponse):
        asker(f"openai:gpt-x@{server.url}").stream([User("Hi")])


def test_structure_is_asked_for_by_its_schema(asker: Asking) -> None:
    class Topic(BaseModel):
        name: str

    with service(said(completion(content='{"name": "Bicycles"}'))) as server:
        found = asker(f"openai:gpt-x@{server.url}").structured(Topic, [User("Name it")])
    assert (found.value, found.attempts) == (Topic(name="Bicycles"), 1)
    assert asked(server)["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "Topic", "schema": Topic.model_json_schema()},
    }


def test_embeddings_come_in_the_order_of_the_texts_with_length_one(asker: Asking) -> None:
    data = [{"index": 1, "embedding": [0, 2]}, {"index": 0, "embedding": [3, 4]}]
    with service(said({"data": data, "model": "e", "usage": {"prompt_tokens": 5, "total_tokens": 5}})) as server:
        asks = asker(f"openai:e@{server.url}")
        vectors = asks.embed(["a", "b", "a"], dimensions=2)
    assert np.allclose(vectors, np.array([[0.6, 0.8], [0.0, 1.0], [0.6, 0.8]]))
    assert vectors.dtype == np.float32
    assert asked(server) == {"model": "e", "input": ["a", "b"], "encoding_format": "float", "dimensions": 2}
    assert asks.used[f"openai:e@{server.url}"].input == 5


def test_prefixes_tell_queries_from_documents(asker: Asking) -> None:
    with service(said({"data": [{"index": 0, "embedding": [1]}]})) as server:
        asker(f"openai:e@{server.url}").embed(["who?"], "query", prefixes={"query": "query: ", "document": "passage: "})
    assert asked(server)["input"] == ["query: who?"]


def test_empty_text_is_sent_as_a_space(asker: Asking) -> None:
    with service(said({"data": [{"index": 0, "embedding": [1]}]})) as server:
        asker(f"openai:e@{server.url}").embed([""])
    assert asked(server)["input"] == [" "]


@pytest.mark.parametrize(
    "data",
    [[], [{"index": 0, "embedding": [1]}] * 2, [{"index": 0, "embedding": []}], [{"index": 0, "embedding": ["x"]}], [{"embedding": [1]}]],
)
def test_vectors_that_are_not_those_of_the_texts_are_a_bad_answer(asker: Asking, data: list[Any]) -> None:
    with service(said({"data": data})) as server, pytest.raises(InvalidModelResponse):
        asker(f"openai:e@{server.url}").embed(["a"])


def test_many_texts_go_in_batches() -> None:
    def batch(size: int) -> Any:
        return said({"data": [{"index": number, "embedding": [1.0, number]} for number in range(size)]})

    with service(batch(128), batch(2)) as server, Models() as models:
        assert models.embeddings(f"openai:e@{server.url}").embed([f"{number:03d}" for number in range(130)]).shape == (130, 2)
    assert [len(asked(server, number)["input"]) for number in (0, 1)] == [128, 2]


def test_openai_itself_needs_a_key() -> None:
    with pytest.raises(KeyMissing):
        Models().chat("openai:gpt-x")


def test_key_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-env")
    with pytest.raises(KeyMissing):
        Models().chat("openai:gpt-x")


def test_key_of_a_provider_is_not_sent_to_another_place(asker: Asking) -> None:
    settings = ModelSettings(keys={"openai": SecretStr("sk-openai")})
    with service(said(completion(content="x"))) as server:
        asker(f"openai:gpt-x@{server.url}", settings).reply([User("Hi")])
    assert "authorization" not in head(server)


def test_key_of_a_place_is_sent_there(asker: Asking) -> None:
    with service(said(completion(content="x"))) as server:
        asker(f"openai:gpt-x@{server.url}/v1", ModelSettings(keys={server.url: SecretStr("sk-own")})).reply([User("Hi")])
    assert "authorization: bearer sk-own" in head(server)


def test_assistant_text_goes_along_with_its_calls(asker: Asking) -> None:
    with service(said(completion(content="x"))) as server:
        history: list[Message] = [
            User("?"),
            Assistant("Let me look.", (ToolCall("1", "weather", "{}"),)),
            ToolResult("1", "weather", "no", failed=True),
        ]
        asker(f"openai:gpt-x@{server.url}").reply(history)
    assert asked(server)["messages"][1]["content"] == "Let me look."
