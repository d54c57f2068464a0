"""What the services of each provider answer in their own protocols: a tool call, an answer, and what goes wrong. Each is the same story.

The story: the model calls `desk_add` with 2 and 3, is given 5, and says "It is 5."; the first reply takes 10 tokens and writes 3, the
second takes 20 and writes 4.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from tests.ai.speaking import events, framed, lines, said, streamed
from tests.net.http.faulty import Act

SUM = '{"a":2,"b":3}'
WORDS = ("It is", " 5.")


@dataclass(frozen=True)
class Protocol:
    """How one provider is spoken to."""

    #: the provider of the agent, and so its handler
    handler: str
    #: the provider of the host's settings that has the server's address
    provider: str
    model: str
    #: calls the tool with these arguments, in the pieces of a stream
    calls: Callable[[str], Act]
    #: says the words, whole or cut off before the end
    says: Callable[[bool], Act]
    #: says nothing, because its content is against the rules of the provider
    refuses: Act
    #: what happened then, and what to do
    refusal: tuple[str, str] = ("content rules", "Change the question")
    #: the head of a request with the tenant's key; None where there are no keys
    key: str | None = "authorization: bearer sk-tenant"
    #: the result of the tool, as the second request has it
    result: Callable[[dict[str, Any]], Any] = field(default=lambda body: None)
    #: what the service answers with a status that is an error
    fails: Callable[[int], Act] = lambda status: said({"error": {"message": "sorry", "code": f"code_{status}"}}, status)

    def settings(self, url: str) -> dict[str, str]:
        """The settings of a host that knows the server, with prices."""
        providers: dict[str, Any] = {self.provider: {"url": url, "speaks": "openai"}}
        prices = {f"{self.provider}:{self.model}": {"input": 100, "output": 1000}}
        return {"MODELS__PROVIDERS": json.dumps(providers), "MODELS__PRICES": json.dumps(prices), "MODELS__ATTEMPTS": "1"}


# OpenAI's chat completions, also of other servers.


def _chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"id": "c1", "model": "m-1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def _chunks(*parts: dict[str, Any], finish: str, used: tuple[int, int]) -> Act:
    usage = {"prompt_tokens": used[0], "completion_tokens": used[1], "total_tokens": sum(used)}
    return events(*parts, _chunk(finish), {"id": "c1", "model": "m-1", "choices": [], "usage": usage})


def _openai_calls(text: str) -> Act:
    first = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "desk_add", "arguments": ""}}
    parts = [_chunk(tool_calls=[first]), _chunk(tool_calls=[{"index": 0, "function": {"arguments": text}}])]
    return _chunks(*parts, finish="tool_calls", used=(10, 3))


def _openai_says(whole: bool) -> Act:
    parts = [_chunk(content=word) for word in WORDS]
    return _chunks(*parts, finish="stop", used=(20, 4)) if whole else events(parts[0], done=False, whole=False, end="close")


def _openai(handler: str, provider: str, model: str) -> Protocol:
    return Protocol(
        handler,
        provider,
        model,
        _openai_calls,
        _openai_says,
        _chunks(finish="content_filter", used=(10, 0)),
        result=lambda body: body["messages"][-1] == {"role": "tool", "tool_call_id": "call_1", "content": "5"},
    )


# OpenAI's Responses.


def _responses(*parts: dict[str, Any], used: tuple[int, int] = (20, 4), **more: Any) -> Act:
    usage = {"input_tokens": used[0], "output_tokens": used[1], "total_tokens": sum(used)}
    whole = {"id": "r1", "model": "m-1", "status": "completed", "output": [], "usage": usage, "error": None} | more
    return events(*parts, {"type": "response.completed", "response": whole}, done=False)


def _responses_calls(text: str) -> Act:
    call = {"type": "function_call", "id": "fc1", "call_id": "call_1", "name": "desk_add", "arguments": ""}
    return _responses(
        {"type": "response.output_item.added", "output_index": 0, "item": call},
        {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": text},
        used=(10, 3),
    )


def _responses_says(whole: bool) -> Act:
    parts = [{"type": "response.output_text.delta", "output_index": 0, "delta": word} for word in WORDS]
    return _responses(*parts) if whole else events(parts[0], done=False, whole=False, end="close")


RESPONSES = Protocol(
    "openai-responses",
    "openai-responses",
    "m",
    _responses_calls,
    _responses_says,
    _responses(status="incomplete", incomplete_details={"reason": "content_filter"}),
    result=lambda body: body["input"][-1] == {"type": "function_call_output", "call_id": "call_1", "output": "5"},
)

# Anthropic's Messages.


def _messages(*bodies: dict[str, Any], stop: str, used: tuple[int, int], whole: bool = True) -> Act:
    usage = {"input_tokens": used[0], "output_tokens": 1}
    message: dict[str, Any] = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m-1",
        "content": [],
        "stop_reason": None,
        "usage": usage,
    }
    ended = {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": used[1]}}
    told: list[dict[str, Any]] = [{"type": "message_start", "message": message}, *bodies]
    told += [ended, {"type": "message_stop"}] if whole else []
    pieces = [f"event: {body['type']}\ndata: ".encode() + orjson.dumps(body) + b"\n\n" for body in told]
    return streamed(pieces, "text/event-stream", "keep" if whole else "close", whole)


def _block(content: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    begun = {"type": "content_block_start", "index": 0, "content_block": content}
    return [begun, *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas)]


def _anthropic_calls(text: str) -> Act:
    use = {"type": "tool_use", "id": "call_1", "name": "desk_add", "input": {}}
    return _messages(*_block(use, {"type": "input_json_delta", "partial_json": text}), stop="tool_use", used=(10, 3))


def _anthropic_says(whole: bool) -> Act:
    deltas = [{"type": "text_delta", "text": word} for word in (WORDS if whole else WORDS[:1])]
    return _messages(*_block({"type": "text", "text": ""}, *deltas), stop="end_turn", used=(20, 4), whole=whole)


def _anthropic_result(body: dict[str, Any]) -> bool:
    (result,) = body["messages"][-1]["content"]
    return bool(result["type"] == "tool_result" and result["tool_use_id"] == "call_1" and "5" in str(result["content"]))


def _anthropic(handler: str) -> Protocol:
    return Protocol(
        handler,
        "anthropic",
        "m",
        _anthropic_calls,
        _anthropic_says,
        _messages(stop="refusal", used=(10, 1)),
        result=_anthropic_result,
        fails=lambda status: said({"type": "error", "error": {"type": f"code_{status}", "message": "sorry"}}, status),
    )


# Google's Gemini.


def _gemini_events(*bodies: tuple[list[dict[str, Any]], str | None, tuple[int, int]], whole: bool = True) -> Act:
    pieces = []
    for parts, finish, used in bodies:
        candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
        candidate |= {"finishReason": finish} if finish else {}
        usage = {"promptTokenCount": used[0], "candidatesTokenCount": used[1], "totalTokenCount": sum(used)}
        body = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m-1"}
        pieces.append(b"data: " + orjson.dumps(body) + b"\r\n\r\n")
    return streamed(pieces, "text/event-stream", "keep" if whole else "close", whole)


def _gemini_calls(text: str) -> Act:
    return _gemini_events(([{"functionCall": {"name": "desk_add", "args": json.loads(text)}}], "STOP", (10, 3)))


def _gemini_says(whole: bool) -> Act:
    first = ([{"text": WORDS[0]}], None, (20, 2))
    return _gemini_events(first, ([{"text": WORDS[1]}], "STOP", (20, 4))) if whole else _gemini_events(first, whole=False)


GEMINI = Protocol(
    "gemini",
    "gemini",
    "m",
    _gemini_calls,
    _gemini_says,
    streamed([b'data: {"promptFeedback": {"blockReason": "SAFETY"}, "modelVersion": "m-1"}\r\n\r\n'], "text/event-stream"),
    key="x-goog-api-key: sk-tenant",
    result=lambda body: body["contents"][-1]["parts"][0]["functionResponse"]["response"] == {"result": "5"},
    fails=lambda status: said({"error": {"code": status, "message": "sorry", "status": f"CODE_{status}"}}, status),
)

# Ollama.


def _line(used: tuple[int, int] | None = None, **message: Any) -> dict[str, Any]:
    counts = {"done_reason": "stop", "prompt_eval_count": used[0], "eval_count": used[1]} if used else {}
    return {"model": "m-1", "message": {"role": "assistant", "content": ""} | message, "done": used is not None} | counts


def _ollama_calls(text: str) -> Act:
    return lines(_line(tool_calls=[{"function": {"name": "desk_add", "arguments": json.loads(text)}}]), _line((10, 3)))


def _ollama_says(whole: bool) -> Act:
    spoken = [_line(content=word) for word in WORDS]
    return lines(*spoken, _line((20, 4))) if whole else lines(spoken[0], whole=False, end="close")


OLLAMA = Protocol(
    "ollama",
    "ollama",
    "m",
    _ollama_calls,
    _ollama_says,
    said({"error": "sorry"}, 400),
    ("400", "Check the name of the model"),
    result=lambda body: body["messages"][-1] == {"role": "tool", "tool_name": "desk_add", "content": "5"},
    fails=lambda status: said({"error": "sorry"}, status),
)

# Amazon Bedrock.


def _converse(*bodies: tuple[str, dict[str, Any]], stop: str, used: tuple[int, int], whole: bool = True) -> Act:
    usage = {"inputTokens": used[0], "outputTokens": used[1], "totalTokens": sum(used)}
    end: list[tuple[str, dict[str, Any]]] = [
        ("messageStop", {"stopReason": stop}),
        ("metadata", {"usage": usage, "metrics": {"latencyMs": 1}}),
    ]
    told: list[tuple[str, dict[str, Any]]] = [("messageStart", {"role": "assistant"}), *bodies, *(end if whole else [])]
    kind = "application/vnd.amazon.eventstream"
    return streamed([framed("event", name, body) for name, body in told], kind, "keep" if whole else "close", whole)


def _bedrock_calls(text: str) -> Act:
    start = ("contentBlockStart", {"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "call_1", "name": "desk_add"}}})
    delta = ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"toolUse": {"input": text}}})
    return _converse(start, delta, stop="tool_use", used=(10, 3))


def _bedrock_says(whole: bool) -> Act:
    words = [("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": word}}) for word in (WORDS if whole else WORDS[:1])]
    return _converse(*words, stop="end_turn", used=(20, 4), whole=whole)


BEDROCK = Protocol(
    "bedrock",
    "bedrock",
    "some.model-v1:0",
    _bedrock_calls,
    _bedrock_says,
    _converse(stop="content_filtered", used=(10, 0)),
    key=None,
    result=lambda body: body["messages"][-1]["content"][0]["toolResult"]["content"] == [{"text": "5"}],
    fails=lambda status: said({"message": "sorry"}, status, x_amzn_errortype=f"Code{status}Exception"),
)

PROTOCOLS = {
    protocol.handler: protocol
    for protocol in (
        _openai("openai", "openai", "m"),
        _openai("openai-compatible", "house", "m"),
        RESPONSES,
        _anthropic("anthropic"),
        _anthropic("claude"),
        GEMINI,
        OLLAMA,
        BEDROCK,
    )
}
