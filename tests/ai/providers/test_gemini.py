"""Endpoints that speak Google's Gemini API."""

from collections.abc import Callable
from typing import Any

import numpy as np
import orjson
import pytest
from pydantic import BaseModel

from gateleg.ai import KeyMissing, Models, ModelUnreachable, RateLimited, System, Tool, ToolResult, User
from gateleg.ai.errors import InvalidModelResponse, ModelAccessDenied
from tests.ai.driving import Asker
from tests.ai.speaking import asked, head, said, streamed
from tests.net.http.faulty import Act, service

Asking = Callable[..., Asker]
WEATHER = Tool("weather", "The weather of a city", {"type": "object", "properties": {"city": {"type": "string"}}})
CALL = {"functionCall": {"name": "weather", "args": {"city": "Oslo"}}, "thoughtSignature": "c2lnbmVk"}


def answer(*parts: dict[str, Any], finish: str | None = "STOP") -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    candidate |= {"finishReason": finish} if finish else {}
    usage = {"promptTokenCount": 6, "candidatesTokenCount": 2, "thoughtsTokenCount": 1, "totalTokenCount": 9}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-x-1"}


def events(*bodies: dict[str, Any]) -> Act:
    return streamed([b"data: " + orjson.dumps(body) + b"\r\n\r\n" for body in bodies], "text/event-stream")


def test_reply_has_text_finish_and_usage(asker: Asking) -> None:
    with service(said(answer({"text": "Hm", "thought": True}, {"text": "Hello"}))) as server:
        reply = asker(f"gemini:gemini-x@{server.url}", key="k").reply(
            [System("Be brief."), User("Hi")], temperature=0.5, max_tokens=9, seed=1, stop=["x"]
        )
    assert (reply.text, reply.reasoning, reply.finish, reply.model) == ("Hello", "Hm", "stop", "gemini-x-1")
    assert (reply.usage.input, reply.usage.output) == (6, 3)
    assert "models/gemini-x:generatecontent" in head(server)
    assert "x-goog-api-key: k" in head(server)
    body = asked(server)
    assert body["contents"] == [{"role": "user", "parts": [{"text": "Hi"}]}]
    assert body["systemInstruction"]["parts"] == [{"text": "Be brief."}]
    assert body["generationConfig"] == {"temperature": 0.5, "maxOutputTokens": 9, "seed": 1, "stopSequences": ["x"]}


def test_tool_calls_go_back_with_their_signature(asker: Asking) -> None:
    with service(said(answer(CALL)), said(answer({"text": "Cold"}))) as server:
        asks = asker(f"gemini:gemini-x@{server.url}", key="k")
        reply = asks.reply([User("?")], tools=[WEATHER], tool_choice="weather")
        assert reply.finish == "tools"
        assert (reply.calls[0].name, reply.calls[0].arguments) == ("weather", {"city": "Oslo"})
        choice = asked(server)["toolConfig"]["functionCallingConfig"]
        assert choice == {"mode": "ANY", "allowedFunctionNames": ["weather"]}
        asks.reply([User("?"), reply.message, ToolResult(reply.calls[0].id, "weather", "-3")], tools=[WEATHER])
    turns = asked(server)["contents"]
    assert turns[1]["parts"][0]["thoughtSignature"] == "c2lnbmVk"
    assert turns[2]["parts"][0]["functionResponse"]["response"] == {"result": "-3"}


def test_stream_says_pieces_and_then_the_whole(asker: Asking) -> None:
    with service(events(answer({"text": "Hel"}, finish=None), answer({"text": "lo"}, finish="MAX_TOKENS"))) as server:
        deltas = asker(f"gemini:gemini-x@{server.url}", key="k").stream([User("Hi")])
    assert [piece.text for piece in deltas] == ["Hel", "lo", ""]
    reply = deltas[-1].reply
    assert reply is not None
    assert (reply.text, reply.finish, reply.usage.output) == ("Hello", "length", 3)


def test_structure_is_asked_for_by_its_schema(asker: Asking) -> None:
    class Topic(BaseModel):
        name: str

    with service(said(answer({"text": '{"name": "Bikes"}'}))) as server:
        assert asker(f"gemini:gemini-x@{server.url}", key="k").structured(Topic, [User("?")]).value.name == "Bikes"
    config = asked(server)["generationConfig"]
    assert config["responseMimeType"] == "application/json"
    assert config["responseJsonSchema"]["required"] == ["name"]


def test_blocked_prompt_is_filtered(asker: Asking) -> None:
    with service(said({"promptFeedback": {"blockReason": "SAFETY"}, "modelVersion": "g"})) as server:
        reply = asker(f"gemini:gemini-x@{server.url}", key="k").reply([User("?")])
    assert (reply.text, reply.finish) == ("", "filtered")


def test_wrong_key_is_told(asker: Asking) -> None:
    error = {"error": {"code": 400, "message": "API key not valid. Please pass a valid API key.", "status": "INVALID_ARGUMENT"}}
    with service(said(error, 400)) as server, pytest.raises(ModelAccessDenied):
        asker(f"gemini:gemini-x@{server.url}", key="k").reply([User("?")])


def test_what_passes_is_tried_again_by_this_room_alone(asker: Asking) -> None:
    error = {"error": {"code": 429, "message": "Quota", "status": "RESOURCE_EXHAUSTED"}}
    with service(*[said(error, 429)] * 4) as server:
        asks = asker(f"gemini:gemini-x@{server.url}", key="k")
        with pytest.raises(RateLimited, match="RESOURCE_EXHAUSTED"):
            asks.reply([User("?")])
    assert (len(server.requests), len(asks.clock.pauses)) == (4, 3)


def test_service_that_is_not_there_is_unreachable(asker: Asking) -> None:
    with service() as server:
        url = server.url
    with pytest.raises(ModelUnreachable):
        asker(f"gemini:gemini-x@{url}", key="k", attempts=1).reply([User("?")])


def test_embeddings_tell_their_purpose(asker: Asking) -> None:
    with service(said({"embeddings": [{"values": [3.0, 4.0]}, {"values": [0.0, 1.0]}]})) as server:
        vectors = asker(f"gemini:e@{server.url}").embed(["a", "b"], "query", key="k", dimensions=2)
    assert np.allclose(vectors, np.array([[0.6, 0.8], [0.0, 1.0]]))
    wanted = asked(server)["requests"][0]
    assert (wanted["taskType"], wanted["outputDimensionality"]) == ("RETRIEVAL_QUERY", 2)


def test_missing_vectors_are_a_bad_answer(asker: Asking) -> None:
    with service(said({"embeddings": []})) as server, pytest.raises(InvalidModelResponse):
        asker(f"gemini:e@{server.url}").embed(["a"], key="k")


def test_key_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "sk-env")
    with pytest.raises(KeyMissing):
        Models().chat("gemini:gemini-x")
