"""Endpoints that speak Anthropic's Messages API."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from pydantic import BaseModel

from gateleg.ai import Assistant, KeyMissing, ModelFailed, Models, ModelUnreachable, RateLimited, System, Tool, ToolCall, ToolResult, User
from gateleg.ai.errors import ModelAccessDenied, StreamBroken
from tests.ai.driving import Asker
from tests.ai.speaking import asked, head, said, streamed
from tests.net.http.faulty import RESET, Act, service

Asking = Callable[..., Asker]
WEATHER = Tool("weather", "The weather of a city", {"type": "object", "properties": {"city": {"type": "string"}}})
USAGE = {"input_tokens": 5, "output_tokens": 2, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 1}


def message(*content: dict[str, Any], stop: str = "end_turn") -> dict[str, Any]:
    return {"id": "m", "type": "message", "role": "assistant", "model": "claude-x", "content": content, "stop_reason": stop, "usage": USAGE}


def events(*bodies: dict[str, Any], **options: Any) -> Act:
    pieces = [f"event: {body['type']}\ndata: ".encode() + orjson.dumps(body) + b"\n\n" for body in bodies]
    return streamed(pieces, "text/event-stream", **options)


def start() -> dict[str, Any]:
    return {"type": "message_start", "message": message() | {"content": [], "stop_reason": None, "usage": USAGE | {"output_tokens": 1}}}


def block(index: int, content: dict[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": content}


def delta(index: int, **content: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": content}


def stop(reason: str) -> list[dict[str, Any]]:
    ended = {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": 9}}
    return [ended, {"type": "message_stop"}]


def test_reply_has_text_finish_and_usage(asker: Asking) -> None:
    with service(said(message({"type": "text", "text": "Hello"}))) as server:
        reply = asker(f"anthropic:claude-x@{server.url}", key="k").reply(
            [System("Be brief."), User("Hi")], temperature=0.5, max_tokens=9, stop=["x"]
        )
    assert (reply.text, reply.finish, reply.model) == ("Hello", "stop", "claude-x")
    assert (reply.usage.input, reply.usage.output, reply.usage.cached) == (9, 2, 3)
    assert "bearer k" in head(server)
    assert asked(server) == {
        "model": "claude-x",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
        "system": "Be brief.",
        "stop_sequences": ["x"],
        "temperature": 0.5,
    }


def test_tool_calls_and_their_results_go_back_and_forth(asker: Asking) -> None:
    use = {"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": "Oslo"}}
    with service(said(message(use, stop="tool_use")), said(message({"type": "text", "text": "Cold"}))) as server:
        asks = asker(f"anthropic:claude-x@{server.url}", key="k")
        reply = asks.reply([User("?")], tools=[WEATHER], tool_choice="required")
        assert reply.finish == "tools"
        assert (reply.calls[0].id, reply.calls[0].arguments) == ("t1", {"city": "Oslo"})
        assert asked(server)["tool_choice"] == {"type": "any"}
        asks.reply([User("?"), reply.message, ToolResult("t1", "weather", "-3", failed=True), User("And?")], tools=[WEATHER])
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "-3", "is_error": True}
    assert asked(server)["messages"][1:] == [
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result, {"type": "text", "text": "And?"}]},
    ]


def test_stream_says_pieces_and_then_the_whole(asker: Asking) -> None:
    text = {"type": "text", "text": ""}
    pieces = [delta(0, type="text_delta", text="Hel"), {"type": "ping"}, delta(0, type="text_delta", text="lo")]
    with service(events(start(), block(0, text), *pieces, {"type": "content_block_stop", "index": 0}, *stop("max_tokens"))) as server:
        deltas = asker(f"anthropic:claude-x@{server.url}", key="k").stream([User("Hi")])
    assert [piece.text for piece in deltas] == ["Hel", "lo", ""]
    reply = deltas[-1].reply
    assert reply is not None
    assert (reply.text, reply.finish, reply.usage.input, reply.usage.output) == ("Hello", "length", 9, 9)


def test_streamed_tool_calls_are_put_together(asker: Asking) -> None:
    use = {"type": "tool_use", "id": "t1", "name": "weather", "input": {}}
    parts = [delta(1, type="input_json_delta", partial_json=text) for text in ("", '{"city":', '"Oslo"}')]
    with service(events(start(), block(0, {"type": "text", "text": ""}), block(1, use), *parts, *stop("tool_use"))) as server:
        reply = asker(f"anthropic:claude-x@{server.url}", key="k").stream([User("?")], tools=[WEATHER])[-1].reply
    assert reply is not None
    assert (reply.finish, reply.calls) == ("tools", (ToolCall("t1", "weather", '{"city":"Oslo"}'),))


def test_structure_is_a_tool_that_must_be_called(asker: Asking) -> None:
    class Topic(BaseModel):
        name: str

    use = {"type": "tool_use", "id": "t1", "name": "Topic", "input": {"name": "Bikes"}}
    with service(said(message(use, stop="tool_use"))) as server:
        found = asker(f"anthropic:claude-x@{server.url}", key="k").structured(Topic, [User("?")])
    assert (found.value.name, found.reply.finish, found.reply.calls) == ("Bikes", "stop", ())
    assert asked(server)["tool_choice"] == {"type": "tool", "name": "Topic"}


@pytest.mark.parametrize(
    ("status", "kind", "error"),
    [(401, "authentication_error", ModelAccessDenied), (429, "rate_limit_error", RateLimited), (529, "overloaded_error", ModelFailed)],
)
def test_refusals_are_told(asker: Asking, status: int, kind: str, error: type[Exception]) -> None:
    body = {"type": "error", "error": {"type": kind, "message": "no, k-secret"}}
    with service(said(body, status, retry_after="2")) as server, pytest.raises(error, match=f"{status} .{kind}.: no, ..."):
        asker(f"anthropic:claude-x@{server.url}", key="k-secret", attempts=1).reply([User("?")])


def test_what_passes_is_tried_again_by_this_room_alone(asker: Asking) -> None:
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    with service(RESET, said(body, 529), said(message({"type": "text", "text": "Yes"}))) as server:
        asks = asker(f"anthropic:claude-x@{server.url}", key="k")
        assert asks.reply([User("?")]).text == "Yes"
    assert (len(server.requests), len(asks.clock.pauses)) == (3, 2)


def test_error_in_the_middle_of_a_stream_is_told(asker: Asking) -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    said_so_far = [start(), block(0, {"type": "text", "text": ""}), delta(0, type="text_delta", text="So")]
    with service(events(*said_so_far, error)) as server, pytest.raises(StreamBroken, match="529") as failed:
        asker(f"anthropic:claude-x@{server.url}", key="k").stream([User("?")])
    assert failed.value.text == "So"


def test_service_that_is_not_there_is_unreachable(asker: Asking) -> None:
    with service() as server:
        url = server.url
    with pytest.raises(ModelUnreachable):
        asker(f"anthropic:claude-x@{url}", key="k", attempts=1).reply([User("?")])


def test_assistant_without_text_says_nothing_empty(asker: Asking) -> None:
    with service(said(message({"type": "text", "text": "x"}))) as server:
        asker(f"anthropic:claude-x@{server.url}", key="k").reply([User("?"), Assistant(""), User("!")])
    assert [turn["role"] for turn in asked(server)["messages"]] == ["user", "user"]


def test_key_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-env")
    with pytest.raises(KeyMissing):
        Models().chat("anthropic:claude-x")
