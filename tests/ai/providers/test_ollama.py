"""Ollama's own API."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

from gateleg.ai import Assistant, Message, Tool, ToolCall, ToolResult, User
from gateleg.ai.errors import InvalidModelResponse, ModelRefused, NotOffered, StreamBroken
from tests.ai.driving import Asker
from tests.ai.speaking import asked, head, lines, said
from tests.net.http.faulty import service

Asking = Callable[..., Asker]
CALL = {"function": {"name": "weather", "arguments": {"city": "Oslo"}}}
WEATHER = Tool("weather", "The weather of a city")


def line(done: bool = False, **message: Any) -> dict[str, Any]:
    counts = {"done_reason": "stop", "prompt_eval_count": 7, "eval_count": 3} if done else {}
    return {"model": "llama3.2", "message": {"role": "assistant", "content": ""} | message, "done": done} | counts


def test_reply_has_text_finish_and_usage(asker: Asking) -> None:
    with service(said(line(True, content="Hello"))) as server:
        reply = asker(f"ollama:llama3.2:1b@{server.url}").reply([User("Hi")], temperature=0, max_tokens=9, seed=1, stop="x")
    assert (reply.text, reply.finish, reply.usage.input, reply.usage.output) == ("Hello", "stop", 7, 3)
    assert head(server).startswith("post /api/chat ")
    assert asked(server) == {
        "model": "llama3.2:1b",
        "messages": [{"role": "user", "content": "Hi"}],
        "stream": False,
        "options": {"temperature": 0, "num_predict": 9, "seed": 1, "stop": ["x"]},
    }


def test_answer_that_ran_out_of_tokens_says_so(asker: Asking) -> None:
    with service(said(line(True, content="Hel") | {"done_reason": "length"})) as server:
        assert asker(f"ollama:m@{server.url}").reply([User("Hi")]).finish == "length"


def test_stream_of_lines_is_said_piece_by_piece(asker: Asking) -> None:
    with service(lines(line(thinking="Hm"), line(content="Hel"), line(content="lo"), line(True))) as server:
        deltas = asker(f"ollama:m@{server.url}").stream([User("Hi")])
    assert [delta.text for delta in deltas] == ["", "Hel", "lo", ""]
    reply = deltas[-1].reply
    assert reply is not None
    assert (reply.text, reply.reasoning, reply.usage.output) == ("Hello", "Hm", 3)


def test_tool_calls_get_an_id_and_go_back_without_one(asker: Asking) -> None:
    with service(said(line(True, tool_calls=[CALL, CALL])), said(line(True, content="Cold"))) as server:
        asks = asker(f"ollama:m@{server.url}")
        reply = asks.reply([User("?")], tools=[WEATHER])
        assert [(call.id, call.arguments) for call in reply.calls] == [("call_0", {"city": "Oslo"}), ("call_1", {"city": "Oslo"})]
        assert reply.finish == "tools"
        history: list[Message] = [User("?"), reply.message, ToolResult("call_0", "weather", "-3"), ToolResult("call_1", "weather", "-3")]
        asks.reply(history, tools=[WEATHER])
    assert asked(server)["messages"][1] == {"role": "assistant", "content": "", "tool_calls": [CALL, CALL]}
    assert asked(server)["messages"][2] == {"role": "tool", "tool_name": "weather", "content": "-3"}


def test_streamed_tool_calls_are_told_apart(asker: Asking) -> None:
    with service(lines(line(tool_calls=[CALL]), line(tool_calls=[CALL]), line(True))) as server:
        reply = asker(f"ollama:m@{server.url}").stream([User("?")], tools=[WEATHER])[-1].reply
    assert reply is not None
    assert ([call.id for call in reply.calls], reply.finish) == (["call_0", "call_1"], "tools")


def test_arguments_that_were_no_json_go_back_as_text(asker: Asking) -> None:
    with service(said(line(True, content="ok"))) as server:
        asker(f"ollama:m@{server.url}").reply([User("?"), Assistant("", (ToolCall("1", "weather", "{oops"),))])
    assert asked(server)["messages"][1]["tool_calls"][0]["function"]["arguments"] == {"text": "{oops"}


def test_tool_that_must_be_called_is_not_offered(asker: Asking) -> None:
    with pytest.raises(NotOffered):
        asker("ollama:m").reply([User("?")], tools=[WEATHER], tool_choice="required")


def test_tools_that_may_not_be_called_are_not_sent(asker: Asking) -> None:
    with service(said(line(True, content="ok"))) as server:
        asker(f"ollama:m@{server.url}").reply([User("?")], tools=[WEATHER], tool_choice="none")
    assert "tools" not in asked(server)


def test_structure_is_asked_for_as_a_format(asker: Asking) -> None:
    class Topic(BaseModel):
        name: str

    with service(said(line(True, content='{"name": "x"}'))) as server:
        assert asker(f"ollama:m@{server.url}").structured(Topic, [User("?")]).value.name == "x"
    assert asked(server)["format"] == Topic.model_json_schema()


def test_unknown_model_is_refused_with_the_words_of_the_service(asker: Asking) -> None:
    with service(said({"error": "model 'm' not found"}, 404)) as server, pytest.raises(ModelRefused, match="model 'm' not found"):
        asker(f"ollama:m@{server.url}").reply([User("Hi")])


def test_error_in_the_middle_of_a_stream_is_told(asker: Asking) -> None:
    with service(lines(line(content="So"), {"error": "out of memory"})) as server, pytest.raises(StreamBroken, match="out of memory"):
        asker(f"ollama:m@{server.url}").stream([User("Hi")])


def test_embeddings_have_length_one(asker: Asking) -> None:
    with service(said({"model": "e", "embeddings": [[3.0, 4.0], [0.0, 0.0]], "prompt_eval_count": 2})) as server:
        vectors = asker(f"ollama:e@{server.url}").embed(["a", "b"])
    assert np.allclose(vectors, np.array([[0.6, 0.8], [0.0, 0.0]]))
    assert asked(server) == {"model": "e", "input": ["a", "b"], "truncate": True}


def test_vectors_of_different_lengths_are_a_bad_answer(asker: Asking) -> None:
    with service(said({"embeddings": [[1, 2], [1]]})) as server, pytest.raises(InvalidModelResponse):
        asker(f"ollama:e@{server.url}").embed(["a", "b"])
