"""Endpoints that speak OpenAI's Responses API."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from pydantic import BaseModel, SecretStr

from gateleg.ai import Attachment, KeyMissing, ModelFailed, Models, ModelSettings, RateLimited, System, Tool, ToolResult, UploadedFile, User
from gateleg.ai.chat_requests import chat_request
from gateleg.ai.errors import InvalidModelResponse, NotOffered, StreamBroken
from gateleg.ai.providers.openai_responses import ResponsesDialect
from tests.ai.driving import Asker
from tests.ai.speaking import asked, events, head, said
from tests.net.http.faulty import service

Asking = Callable[..., Asker]
WEATHER = Tool("weather", "The weather of a city", {"type": "object", "properties": {"city": {"type": "string"}}})
USAGE = {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11, "input_tokens_details": {"cached_tokens": 4}}
CALL = {"type": "function_call", "id": "fc1", "call_id": "call_9", "name": "weather", "arguments": '{"city": "Oslo"}'}
THOUGHT = {"type": "reasoning", "id": "rs1", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "xyz"}


def text(*words: str, kind: str = "output_text") -> dict[str, Any]:
    name = "text" if kind == "output_text" else "refusal"
    return {"type": "message", "id": "m1", "role": "assistant", "content": [{"type": kind, name: word} for word in words]}


def response(*output: dict[str, Any], status: str = "completed", **more: Any) -> dict[str, Any]:
    return {"id": "r1", "object": "response", "model": "gpt-x-1", "status": status, "output": output, "usage": USAGE, "error": None} | more


def streamed(*pieces: dict[str, Any], end: str = "response.completed", **more: Any) -> Any:
    created = {"type": "response.created", "response": response(status="in_progress")}
    return events(created, *pieces, {"type": end, "response": response(**more)}, done=False)


def test_reply_has_text_finish_usage_and_model(asker: Asking) -> None:
    with service(said(response(THOUGHT, text("Hello", " there")))) as server:
        reply = asker(f"openai-responses:gpt-x@{server.url}/v1").reply([User("Hi")])
    assert (reply.text, reply.reasoning, reply.finish, reply.model) == ("Hello there", "Hm.", "stop", "gpt-x-1")
    assert (reply.usage.input, reply.usage.output, reply.usage.cached) == (9, 2, 4)


def test_request_is_written_as_documented(asker: Asking) -> None:
    with service(said(response(text("x")))) as server:
        files = (
            Attachment("image/png", b"x"),
            Attachment("application/pdf", b"%PDF", "a.pdf"),
            UploadedFile("openai", "file-1", "image/png"),
            UploadedFile("openai", "file-2", "application/pdf"),
        )
        asker(f"openai-responses:gpt-x@{server.url}/v1", key="k").reply(
            [System("Be brief."), User("Hi", files)], temperature=0.5, max_tokens=7, tools=[WEATHER], tool_choice="weather"
        )
    assert head(server).startswith("post /v1/responses http/1.1")
    assert "authorization: bearer k" in head(server)
    assert asked(server) == {
        "model": "gpt-x",
        "input": [
            {
                "role": "user",
                "content": [
                    {"type": "input_image", "image_url": "data:image/png;base64,eA=="},
                    {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="},
                    {"type": "input_image", "file_id": "file-1"},
                    {"type": "input_file", "file_id": "file-2"},
                    {"type": "input_text", "text": "Hi"},
                ],
            }
        ],
        "stream": False,
        "store": False,
        "instructions": "Be brief.",
        "temperature": 0.5,
        "max_output_tokens": 7,
        "tools": [
            {
                "type": "function",
                "name": "weather",
                "description": WEATHER.description,
                "parameters": WEATHER.parameters,
                "strict": False,
            }
        ],
        "tool_choice": {"type": "function", "name": "weather"},
    }


def test_tool_calls_and_their_results_go_back_and_forth_with_what_was_thought(asker: Asking) -> None:
    with service(said(response(THOUGHT, CALL)), said(response(text("Cold.")))) as server:
        asks = asker(f"openai-responses:gpt-x@{server.url}")
        first = asks.reply([User("Weather?")], tools=[WEATHER])
        assert first.finish == "tools"
        assert (first.calls[0].id, first.calls[0].arguments) == ("call_9", {"city": "Oslo"})
        asks.reply([User("Weather?"), first.message, ToolResult("call_9", "weather", "-3")], tools=[WEATHER])
    call = {name: CALL[name] for name in ("type", "call_id", "name", "arguments")}
    assert asked(server)["input"][1:] == [THOUGHT, call, {"type": "function_call_output", "call_id": "call_9", "output": "-3"}]


def test_stream_says_pieces_and_then_the_whole(asker: Asking) -> None:
    pieces = [
        {"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "Hm."},
        {"type": "response.output_text.delta", "output_index": 1, "delta": "Hel"},
        {"type": "response.output_text.delta", "output_index": 1, "delta": "lo"},
    ]
    with service(streamed(*pieces)) as server:
        deltas = asker(f"openai-responses:gpt-x@{server.url}").stream([User("Hi")])
    assert asked(server)["stream"] is True
    assert [delta.text for delta in deltas] == ["", "Hel", "lo", ""]
    reply = deltas[-1].reply
    assert reply is not None
    assert (reply.text, reply.reasoning, reply.finish, reply.usage.output) == ("Hello", "Hm.", "stop", 2)


def test_streamed_tool_calls_are_put_together(asker: Asking) -> None:
    begun = CALL | {"arguments": ""}
    pieces = [
        {"type": "response.output_item.done", "output_index": 0, "item": THOUGHT},
        {"type": "response.output_item.added", "output_index": 1, "item": begun},
        {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": '{"city":'},
        {"type": "response.output_item.added", "output_index": 2, "item": begun | {"call_id": "b"}},
        {"type": "response.function_call_arguments.delta", "output_index": 2, "delta": "{}"},
        {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": ' "Oslo"}'},
    ]
    with service(streamed(*pieces)) as server:
        reply = asker(f"openai-responses:gpt-x@{server.url}").stream([User("?")], tools=[WEATHER])[-1].reply
    assert reply is not None
    assert reply.finish == "tools"
    assert [(call.id, call.text) for call in reply.calls] == [("call_9", '{"city": "Oslo"}'), ("b", "{}")]
    assert orjson.loads(reply.calls[0].signature)["encrypted_content"] == "xyz"


@pytest.mark.parametrize(
    ("output", "more", "finish"),
    [
        (text("x"), {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "length"),
        (text("x"), {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "filtered"),
        (text("No.", kind="refusal"), {}, "filtered"),
    ],
)
def test_reason_of_the_end_is_told(asker: Asking, output: dict[str, Any], more: dict[str, Any], finish: str) -> None:
    with service(said(response(output, **more))) as server:
        assert asker(f"openai-responses:gpt-x@{server.url}").reply([User("?")]).finish == finish


def test_structure_is_asked_for_by_its_schema(asker: Asking) -> None:
    class Topic(BaseModel):
        name: str

    with service(said(response(text('{"name": "Bicycles"}')))) as server:
        found = asker(f"openai-responses:gpt-x@{server.url}").structured(Topic, [User("Name it")])
    assert found.value == Topic(name="Bicycles")
    shape = {"type": "json_schema", "name": "Topic", "schema": Topic.model_json_schema(), "strict": False}
    assert asked(server)["text"] == {"format": shape}


def test_failures_of_an_answer_are_errors(asker: Asking) -> None:
    failed = response(status="failed", error={"code": "rate_limit_exceeded", "message": "slow down"})
    with service(said(failed)) as server, pytest.raises(RateLimited):
        asker(f"openai-responses:gpt-x@{server.url}", attempts=1).reply([User("?")])
    with service(events({"type": "error", "code": "server_error", "message": "oops"}, done=False)) as server, pytest.raises(ModelFailed):
        asker(f"openai-responses:gpt-x@{server.url}", attempts=1).stream([User("?")])
    begun = {"type": "response.output_text.delta", "output_index": 0, "delta": "So"}
    with service(events(begun, done=False)) as server, pytest.raises(StreamBroken):
        asker(f"openai-responses:gpt-x@{server.url}").stream([User("?")])
    with service(said({"object": "response"})) as server, pytest.raises(InvalidModelResponse):
        asker(f"openai-responses:gpt-x@{server.url}").reply([User("?")])


def test_what_the_api_lacks_is_refused_and_its_key_is_openais() -> None:
    with Models() as models, pytest.raises(NotOffered):
        models.chat("openai-responses:x@http://127.0.0.1:9").reply([User("?")], stop=["x"])
    with pytest.raises(KeyMissing):
        Models().chat("openai-responses:gpt-x")
    Models(ModelSettings(keys={"openai": SecretStr("sk")})).chat("openai-responses:gpt-x")


def test_openai_itself_is_asked_for_what_its_models_thought() -> None:
    request = ResponsesDialect(reasoning=True).build_request("gpt-x", chat_request([User("?")], {}), stream=False)
    assert (request.body or {})["include"] == ["reasoning.encrypted_content"]
