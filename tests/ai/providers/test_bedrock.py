"""Endpoints that speak Bedrock's runtime API, its binary streams included."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

from gateleg.ai import Models, ModelUnreachable, RateLimited, System, Tool, ToolCall, ToolResult, User
from gateleg.ai.errors import InvalidModelRequest, InvalidModelResponse, ModelAccessDenied, NotOffered, StreamBroken
from gateleg.ai.providers import bedrock
from gateleg.ai.providers.bedrock import BedrockEndpoint
from gateleg.net import Chain, Credentials, NoCredentials
from gateleg.net.aws import sign
from gateleg.net.http import HttpRequest
from tests.ai.driving import Asker
from tests.ai.speaking import asked, framed, head, said, streamed
from tests.net.http.faulty import Act, service

Asking = Callable[..., Asker]
WEATHER = Tool("weather", "The weather of a city", {"type": "object", "properties": {"city": {"type": "string"}}})
USE = {"toolUse": {"toolUseId": "t1", "name": "weather", "input": {"city": "Oslo"}}}
USAGE = {"inputTokens": 5, "outputTokens": 2, "totalTokens": 7, "cacheReadInputTokens": 3}


def answer(*content: dict[str, Any], stop: str = "end_turn") -> Act:
    output = {"message": {"role": "assistant", "content": content}}
    return said({"output": output, "stopReason": stop, "usage": USAGE, "metrics": {"latencyMs": 1}})


def events(*bodies: tuple[str, dict[str, Any]]) -> Act:
    frames = [framed("exception" if name.endswith("Exception") else "event", name, body) for name, body in bodies]
    return streamed(frames, "application/vnd.amazon.eventstream")


def delta(index: int, **content: Any) -> tuple[str, dict[str, Any]]:
    return "contentBlockDelta", {"contentBlockIndex": index, "delta": content}


END: list[tuple[str, dict[str, Any]]] = [
    ("messageStop", {"stopReason": "end_turn"}),
    ("metadata", {"usage": USAGE, "metrics": {"latencyMs": 1}}),
]


def test_reply_has_text_finish_and_usage(asker: Asking) -> None:
    with service(answer({"text": "Hello"})) as server:
        reply = asker(f"bedrock:some.model-v1:0@{server.url}").reply(
            [System("Be brief."), User("Hi")], temperature=0.5, max_tokens=9, stop=["x"]
        )
    assert (reply.text, reply.finish, reply.model) == ("Hello", "stop", "some.model-v1:0")
    assert (reply.usage.input, reply.usage.output, reply.usage.cached) == (8, 2, 3)
    assert head(server).startswith("post /model/some.model-v1%3a0/converse ")
    assert asked(server) == {
        "messages": [{"role": "user", "content": [{"text": "Hi"}]}],
        "inferenceConfig": {"maxTokens": 9, "temperature": 0.5, "stopSequences": ["x"]},
        "system": [{"text": "Be brief."}],
    }


def test_tool_calls_and_their_results_go_back_and_forth(asker: Asking) -> None:
    with service(answer(USE, stop="tool_use"), answer({"text": "Cold"})) as server:
        asks = asker(f"bedrock:m@{server.url}")
        reply = asks.reply([User("?")], tools=[WEATHER], tool_choice="weather")
        assert (reply.finish, reply.calls[0].arguments) == ("tools", {"city": "Oslo"})
        assert asked(server)["toolConfig"]["toolChoice"] == {"tool": {"name": "weather"}}
        asks.reply([User("?"), reply.message, ToolResult("t1", "weather", "-3")], tools=[WEATHER])
    result = {"toolResult": {"toolUseId": "t1", "content": [{"text": "-3"}], "status": "success"}}
    assert asked(server)["messages"][1:] == [{"role": "assistant", "content": [USE]}, {"role": "user", "content": [result]}]


def test_stream_says_pieces_and_then_the_whole(asker: Asking) -> None:
    with service(events(("messageStart", {"role": "assistant"}), delta(0, text="Hel"), delta(0, text="lo"), *END)) as server:
        deltas = asker(f"bedrock:m@{server.url}").stream([User("Hi")])
    assert [piece.text for piece in deltas] == ["Hel", "lo", ""]
    reply = deltas[-1].reply
    assert reply is not None
    assert (reply.text, reply.finish, reply.usage.output) == ("Hello", "stop", 2)


def test_streamed_tool_calls_are_put_together(asker: Asking) -> None:
    start = ("contentBlockStart", {"contentBlockIndex": 1, "start": {"toolUse": {"toolUseId": "t1", "name": "weather"}}})
    parts = [delta(1, toolUse={"input": text}) for text in ('{"city":', '"Oslo"}')]
    with service(events(start, *parts, ("messageStop", {"stopReason": "tool_use"}))) as server:
        reply = asker(f"bedrock:m@{server.url}").stream([User("?")], tools=[WEATHER])[-1].reply
    assert reply is not None
    assert (reply.finish, reply.calls) == ("tools", (ToolCall("t1", "weather", '{"city":"Oslo"}'),))


def test_error_in_the_middle_of_a_stream_is_told(asker: Asking) -> None:
    broken = events(delta(0, text="So"), ("throttlingException", {"message": "slow down"}))
    with service(broken) as server, pytest.raises(StreamBroken, match="slow down"):
        asker(f"bedrock:m@{server.url}").stream([User("?")])


def test_structure_is_a_tool_that_must_be_called(asker: Asking) -> None:
    class Topic(BaseModel):
        name: str

    with service(answer({"toolUse": {"toolUseId": "t", "name": "Topic", "input": {"name": "Bikes"}}}, stop="tool_use")) as server:
        found = asker(f"bedrock:m@{server.url}").structured(Topic, [User("?")])
    assert (found.value.name, found.reply.finish) == ("Bikes", "stop")
    assert asked(server)["toolConfig"]["toolChoice"] == {"tool": {"name": "Topic"}}


def test_what_passes_is_tried_again_by_this_room_alone(asker: Asking) -> None:
    throttled = said({"message": "slow down"}, 429, x_amzn_errortype="ThrottlingException")
    with service(*[throttled] * 4) as server:
        asks = asker(f"bedrock:m@{server.url}")
        with pytest.raises(RateLimited, match="slow down"):
            asks.reply([User("?")])
    assert (len(server.requests), len(asks.clock.pauses)) == (4, 3)


def test_denied_access_is_told(asker: Asking) -> None:
    with service(said({"message": "no"}, 403, x_amzn_errortype="AccessDeniedException")) as server, pytest.raises(ModelAccessDenied):
        asker(f"bedrock:m@{server.url}").reply([User("?")])


def test_service_that_is_not_there_is_unreachable(asker: Asking) -> None:
    with service() as server:
        url = server.url
    with pytest.raises(ModelUnreachable):
        asker(f"bedrock:m@{url}", attempts=1).reply([User("?")])


def test_titan_embeds_one_text_at_a_time(asker: Asking) -> None:
    bodies = [said({"embedding": row, "inputTextTokenCount": 2}) for row in ([3, 4], [0, 1])]
    with service(*bodies) as server:
        asks = asker(f"bedrock:amazon.titan-embed-text-v2:0@{server.url}")
        assert np.allclose(asks.embed(["a", "b"], dimensions=256), np.array([[0.6, 0.8], [0.0, 1.0]]))
    assert asked(server, 0) == {"inputText": "a", "dimensions": 256}
    assert next(iter(asks.used.values())).input == 4


def test_cohere_is_told_the_purpose(asker: Asking) -> None:
    with service(said({"embeddings": {"float": [[1, 0], [0, 1]]}})) as server:
        assert asker(f"bedrock:cohere.embed-v4:0@{server.url}").embed(["a", "b"], "query").shape == (2, 2)
    assert asked(server) == {"texts": ["a", "b"], "input_type": "search_query", "truncate": "END"}


def test_other_models_embed_nothing() -> None:
    with pytest.raises(NotOffered):
        Models().embeddings("bedrock:anthropic.claude@eu-west-1")


def test_key_is_refused() -> None:
    with pytest.raises(InvalidModelRequest):
        Models().chat("bedrock:m@eu-west-1", key="k")


def test_signature_is_the_one_that_botocore_makes() -> None:
    auth = pytest.importorskip("botocore.auth")
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials as BotocoreCredentials

    url, body = "https://bedrock-runtime.eu-west-1.amazonaws.com/model/some.model-v1%3A0/converse?b=2&a=%20x", b'{"messages":[]}'
    request = AWSRequest("POST", url, headers={"Content-Type": "application/json"}, data=body)
    auth.SigV4Auth(BotocoreCredentials("key", "secret", "token"), "bedrock", "eu-west-1").add_auth(request)
    sent = HttpRequest(url, body, {"content-type": "application/json"})
    second = datetime.strptime(request.headers["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp()
    headers = sign(
        "POST",
        sent.address,
        sent.target,
        sent.headers,
        body,
        credentials=Credentials("key", "secret", "token"),
        region="eu-west-1",
        service="bedrock",
        second=second,
    )
    names = ("Authorization", "X-Amz-Date", "X-Amz-Security-Token")
    assert headers == {name.lower(): request.headers[name] for name in names}


def test_request_is_signed_for_the_region_of_its_endpoint(asker: Asking) -> None:
    with service(answer({"text": "Hello"})) as server:
        asker(f"bedrock:m@{server.url}").reply([User("Hi")])
    assert "authorization: aws4-hmac-sha256 credential=key/" in head(server)
    assert "/us-east-1/bedrock/aws4_request, signedheaders=content-type;host;x-amz-date, signature=" in head(server)


def test_api_key_of_bedrock_replaces_the_signature(asker: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-key")
    with service(answer({"text": "Hello"})) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", f"{server.url}/")
        asker("bedrock:m@eu-west-1").reply([User("Hi")])
    assert head(server).startswith("post /model/m/converse ")
    assert "authorization: bearer bedrock-key" in head(server)


def test_api_key_of_bedrock_is_not_sent_to_a_url_in_an_address(asker: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-key")
    with service(answer({"text": "Hello"})) as server:
        asker(f"bedrock:m@{server.url}").reply([User("Hi")])
    assert "bedrock-key" not in head(server)
    assert "authorization: aws4-hmac-sha256" in head(server)


@pytest.mark.parametrize("variable", ["AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_ENDPOINT_URL"])
def test_endpoint_of_the_environment_is_used(asker: Asking, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    with service(answer({"text": "Hello"})) as server:
        monkeypatch.setenv(variable, server.url)
        assert asker("bedrock:m@eu-west-1").reply([User("Hi")]).text == "Hello"
    assert "/eu-west-1/bedrock/aws4_request" in head(server)


def test_region_of_the_address_chooses_the_host() -> None:
    def authenticated(place: str | None) -> str:
        flow = BedrockEndpoint(place).authenticate(HttpRequest("/model/m/converse", b"{}", {"content-type": "application/json"}))
        try:
            step: Any = next(flow)
            while True:
                step = flow.send(step.call())
        except StopIteration as end:
            return str(end.value.url)

    assert authenticated("eu-west-1") == "https://bedrock-runtime.eu-west-1.amazonaws.com/model/m/converse"
    assert authenticated("cn-north-1") == "https://bedrock-runtime.cn-north-1.amazonaws.com.cn/model/m/converse"


def test_missing_credentials_are_told_with_what_to_set(asker: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise NoCredentials("No credentials were found.")

    chain = Chain()
    monkeypatch.setattr(chain, "load", missing)
    monkeypatch.setattr(bedrock, "_chain", lambda: chain)
    with service() as server, pytest.raises(ModelAccessDenied, match="Set AWS_ACCESS_KEY_ID"):
        asker(f"bedrock:m@{server.url}").reply([User("Hi")])
    assert server.requests == []


@pytest.mark.parametrize("place", [0, 9, 14, 60, -3])
def test_damaged_event_stream_is_a_bad_answer(asker: Asking, place: int) -> None:
    frame = bytearray(framed("event", "contentBlockDelta", delta(0, text="So")[1]))
    frame[place] ^= 1
    with service(streamed([bytes(frame)], "application/vnd.amazon.eventstream")) as server, pytest.raises(InvalidModelResponse):
        asker(f"bedrock:m@{server.url}").stream([User("?")])
