"""What services send, in the bytes of their documented protocols: the same replies, streams and errors in every dialect."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from gateleg.ai import Models
from gateleg.ai.messages import ToolCall
from gateleg.ai.providers.anthropic import AnthropicDialect
from gateleg.ai.providers.bedrock import ConverseDialect
from gateleg.ai.providers.gemini import GeminiDialect
from gateleg.ai.providers.ollama import OllamaDialect
from gateleg.ai.providers.openai import OpenAIDialect
from gateleg.ai.providers.openai_responses import ResponsesDialect
from gateleg.ai.providers.remote import ChatDialect
from gateleg.ai.replies import Finish
from tests.ai.speaking import framed, streamed
from tests.net.http.faulty import Act, answer

#: The usage that every service reports, where it knows such a number.
READ, CACHED, WRITTEN = 10, 4, 3
CALL = ToolCall("call_0", "weather", '{"city":"Oslo"}')


@dataclass(frozen=True)
class Content:
    """What a model says: pieces of text, or calls of tools, and why it stopped."""

    words: Sequence[str] = ()
    calls: Sequence[ToolCall] = ()
    finish: Finish = "stop"
    #: whether a structure was asked for, which some services return as the arguments of a tool
    shaped: bool = False

    @property
    def text(self) -> str:
        return "".join(self.words)


@dataclass(frozen=True)
class Wire:
    """A service that speaks one dialect."""

    name: str
    dialect: ChatDialect
    #: the body of a whole reply
    reply: Callable[[Content], Any]
    #: the events of a stream, each as it is sent
    events: Callable[[Content], list[bytes]]
    #: an event that reports an overload in the middle of a stream
    overload: bytes
    #: the body of an error response with a code and a message
    error: Callable[[str, str], Any]
    media_type: str = "text/event-stream"
    #: an event that is not what it should be
    broken: bytes = b"data: {oops\n\n"
    #: the end of a stream that says nothing
    after: bytes = b""
    reports_cached: bool = True
    finishes: tuple[Finish, ...] = ("stop", "length", "filtered")
    key: str | None = "sk-contract-key"
    #: the model as replies name it
    model: str = "m-1"
    offers: frozenset[str] = field(default=frozenset({"stop", "required"}))

    def address(self, url: str) -> str:
        """The address of a model behind a URL."""
        return f"{self.name}:m@{url}"

    def opened(self, models: Models, url: str) -> Any:
        """A chat model behind a URL."""
        return models.chat(self.address(url), key=self.key)

    def said(self, content: Content) -> Act:
        """A whole reply."""
        return answer(orjson.dumps(self.reply(content)), content_type="application/json")

    def streams(self, *pieces: bytes, **options: Any) -> Act:
        """A stream of these bytes."""
        return streamed(list(pieces), self.media_type, **options)

    def fails(self, status: int, code: str = "some_error", message: str = "sorry", **headers: str) -> Act:
        """An error response."""
        return answer(orjson.dumps(self.error(code, message)), status, content_type="application/json", **headers)


def _event(body: Any, name: str = "") -> bytes:
    return (f"event: {name}\n".encode() if name else b"") + b"data: " + orjson.dumps(body) + b"\n\n"


def _halves(text: str) -> tuple[str, str]:
    """The arguments of a call in two pieces, as they are streamed."""
    return text[: len(text) // 2], text[len(text) // 2 :]


def _typed_error(code: str, message: str) -> Any:
    return {"type": "error", "error": {"type": code, "message": message}}


def _coded_error(code: str, message: str) -> Any:
    return {"error": {"message": message, "code": code, "type": "error"}}


# OpenAI's chat completions.

_OPENAI_FINISHES = {"stop": "stop", "length": "length", "filtered": "content_filter", "tools": "tool_calls"}
_OPENAI_USAGE = {"prompt_tokens": READ, "completion_tokens": WRITTEN, "prompt_tokens_details": {"cached_tokens": CACHED}}


def _openai_call(number: int, call: ToolCall, text: str | None = None) -> Any:
    function = {"name": call.name, "arguments": call.text if text is None else text}
    return {"index": number, "id": call.id, "type": "function", "function": function}


def _openai_reply(content: Content) -> Any:
    message: dict[str, Any] = {"role": "assistant", "content": content.text or None}
    if content.calls:
        message["tool_calls"] = [_openai_call(number, call) for number, call in enumerate(content.calls)]
    choice = {"index": 0, "message": message, "finish_reason": _OPENAI_FINISHES[content.finish]}
    return {"id": "c", "object": "chat.completion", "model": "m-1", "choices": [choice], "usage": _OPENAI_USAGE}


def _openai_events(content: Content) -> list[bytes]:
    deltas: list[Any] = [{"role": "assistant", "content": ""}, *({"content": word} for word in content.words)]
    for number, call in enumerate(content.calls):
        first, second = _halves(call.text)
        deltas += [
            {"tool_calls": [_openai_call(number, call, first)]},
            {"tool_calls": [{"index": number, "function": {"arguments": second}}]},
        ]
    choices: list[Any] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": _OPENAI_FINISHES[content.finish]})
    chunks: list[Any] = [{"model": "m-1", "choices": [choice], "usage": None} for choice in choices]
    return [*map(_event, [*chunks, {"model": "m-1", "choices": [], "usage": _OPENAI_USAGE}]), b"data: [DONE]\n\n"]


# OpenAI's Responses API.

_RESPONSES_ENDS: dict[str, Any] = {
    "length": {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
    "filtered": {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}},
}


def _responses_call(call: ToolCall, text: str | None = None) -> Any:
    return {"type": "function_call", "id": "fc", "call_id": call.id, "name": call.name, "arguments": call.text if text is None else text}


def _responses_reply(content: Content) -> Any:
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": word} for word in content.words]}
    output = [*([message] if content.words else []), *map(_responses_call, content.calls)]
    usage = {"input_tokens": READ, "output_tokens": WRITTEN, "input_tokens_details": {"cached_tokens": CACHED}}
    body = {"object": "response", "model": "m-1", "status": "completed", "error": None, "output": output, "usage": usage}
    return body | _RESPONSES_ENDS.get(content.finish, {})


def _responses_events(content: Content) -> list[bytes]:
    whole = _responses_reply(content)
    bodies: list[Any] = [{"type": "response.created", "response": whole | {"status": "in_progress", "output": []}}]
    bodies += [{"type": "response.output_text.delta", "output_index": 0, "delta": word} for word in content.words]
    for number, call in enumerate(content.calls, start=1):
        bodies.append({"type": "response.output_item.added", "output_index": number, "item": _responses_call(call, "")})
        bodies += [{"type": "response.function_call_arguments.delta", "output_index": number, "delta": half} for half in _halves(call.text)]
    bodies.append({"type": f"response.{whole['status']}", "response": whole})
    return [_event(body, body["type"]) for body in bodies]


# Anthropic's Messages API.

_ANTHROPIC_STOPS = {"stop": "end_turn", "length": "max_tokens", "filtered": "refusal", "tools": "tool_use"}
_ANTHROPIC_USAGE = {"input_tokens": READ - CACHED, "output_tokens": WRITTEN, "cache_read_input_tokens": CACHED}


def _anthropic_use(call: ToolCall) -> Any:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}


def _tool_content(content: Content) -> Content:
    """A structure as the arguments of a tool."""
    return Content(calls=[ToolCall("s", "Topic", content.text)], finish="tools") if content.shaped else content


def _anthropic_reply(content: Content) -> Any:
    content = _tool_content(content)
    blocks = [{"type": "text", "text": content.text}] if content.words else []
    blocks += [_anthropic_use(call) for call in content.calls]
    body = {"id": "m", "type": "message", "role": "assistant", "model": "m-1", "content": blocks}
    return body | {"stop_reason": _ANTHROPIC_STOPS[content.finish], "usage": _ANTHROPIC_USAGE}


def _anthropic_events(content: Content) -> list[bytes]:
    content = _tool_content(content)
    begun = _anthropic_reply(Content()) | {"stop_reason": None, "usage": _ANTHROPIC_USAGE | {"output_tokens": 1}}
    bodies: list[Any] = [{"type": "message_start", "message": begun}, {"type": "ping"}]
    if content.words:
        bodies.append({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
        bodies += [{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}} for word in content.words]
        bodies.append({"type": "content_block_stop", "index": 0})
    for number, call in enumerate(content.calls, start=1):
        bodies.append({"type": "content_block_start", "index": number, "content_block": _anthropic_use(call) | {"input": {}}})
        bodies += [
            {"type": "content_block_delta", "index": number, "delta": {"type": "input_json_delta", "partial_json": half}}
            for half in _halves(call.text)
        ]
        bodies.append({"type": "content_block_stop", "index": number})
    stop = {"stop_reason": _ANTHROPIC_STOPS[content.finish], "stop_sequence": None}
    bodies += [{"type": "message_delta", "delta": stop, "usage": {"output_tokens": WRITTEN}}, {"type": "message_stop"}]
    return [_event(body, body["type"]) for body in bodies]


# Google's Gemini API.

_GEMINI_FINISHES = {"stop": "STOP", "length": "MAX_TOKENS", "filtered": "SAFETY", "tools": "STOP"}
_GEMINI_USAGE = {"promptTokenCount": READ, "candidatesTokenCount": WRITTEN, "cachedContentTokenCount": CACHED}


def _gemini_body(parts: list[Any], finish: str | None) -> Any:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    candidate |= {"finishReason": finish} if finish else {}
    return {"candidates": [candidate], "usageMetadata": _GEMINI_USAGE, "modelVersion": "m-1"}


def _gemini_parts(content: Content) -> list[Any]:
    calls = [{"functionCall": {"name": call.name, "args": call.arguments}} for call in content.calls]
    return [*({"text": word} for word in content.words), *calls]


def _gemini_reply(content: Content) -> Any:
    return _gemini_body(_gemini_parts(content), _GEMINI_FINISHES[content.finish])


def _gemini_events(content: Content) -> list[bytes]:
    bodies = [_gemini_body([part], None) for part in _gemini_parts(content)]
    return [b"data: " + orjson.dumps(body) + b"\r\n\r\n" for body in [*bodies, _gemini_body([], _GEMINI_FINISHES[content.finish])]]


def _gemini_error(code: str, message: str) -> Any:
    return {"error": {"code": 503 if code == "overloaded" else 400, "message": message, "status": code}}


# Amazon Bedrock.

_BEDROCK_STOPS = {"stop": "end_turn", "length": "max_tokens", "filtered": "guardrail_intervened", "tools": "tool_use"}
_BEDROCK_USAGE = {"inputTokens": READ - CACHED, "outputTokens": WRITTEN, "totalTokens": 9, "cacheReadInputTokens": CACHED}


def _bedrock_reply(content: Content) -> Any:
    content = _tool_content(content)
    blocks: list[Any] = [{"text": content.text}] if content.words else []
    blocks += [{"toolUse": {"toolUseId": call.id, "name": call.name, "input": call.arguments}} for call in content.calls]
    output = {"message": {"role": "assistant", "content": blocks}}
    return {"output": output, "stopReason": _BEDROCK_STOPS[content.finish], "usage": _BEDROCK_USAGE, "metrics": {"latencyMs": 1}}


def _bedrock_events(content: Content) -> list[bytes]:
    content = _tool_content(content)
    bodies: list[tuple[str, Any]] = [("messageStart", {"role": "assistant"})]
    bodies += [("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": word}}) for word in content.words]
    for number, call in enumerate(content.calls, start=1):
        use = {"toolUse": {"toolUseId": call.id, "name": call.name}}
        bodies.append(("contentBlockStart", {"contentBlockIndex": number, "start": use}))
        bodies += [
            ("contentBlockDelta", {"contentBlockIndex": number, "delta": {"toolUse": {"input": half}}}) for half in _halves(call.text)
        ]
        bodies.append(("contentBlockStop", {"contentBlockIndex": number}))
    bodies.append(("messageStop", {"stopReason": _BEDROCK_STOPS[content.finish]}))
    bodies.append(("metadata", {"usage": _BEDROCK_USAGE, "metrics": {"latencyMs": 1}}))
    return [framed("event", name, body) for name, body in bodies]


# Ollama.

_OLLAMA_REASONS = {"stop": "stop", "length": "length", "tools": "stop"}


def _ollama_body(message: Any, finish: Finish | None = None) -> Any:
    body = {"model": "m-1", "message": {"role": "assistant", "content": ""} | message, "done": finish is not None}
    return (
        body
        if finish is None
        else body
        | {
            "done_reason": _OLLAMA_REASONS[finish],
            "prompt_eval_count": READ,
            "eval_count": WRITTEN,
        }
    )


def _ollama_calls(content: Content) -> Any:
    calls = [{"function": {"name": call.name, "arguments": call.arguments}} for call in content.calls]
    return {"tool_calls": calls} if calls else {}


def _ollama_reply(content: Content) -> Any:
    return _ollama_body({"content": content.text} | _ollama_calls(content), content.finish)


def _ollama_events(content: Content) -> list[bytes]:
    bodies = [_ollama_body({"content": word}) for word in content.words]
    bodies += [_ollama_body(_ollama_calls(content))] if content.calls else []
    return [orjson.dumps(body) + b"\n" for body in [*bodies, _ollama_body({}, content.finish)]]


WIRES = (
    Wire("openai", OpenAIDialect(), _openai_reply, _openai_events, _event(_coded_error("overloaded", "busy")), _coded_error),
    Wire(
        "openai-responses",
        ResponsesDialect(),
        _responses_reply,
        _responses_events,
        _event({"type": "error", "code": "server_error", "message": "busy"}, "error"),
        _coded_error,
        offers=frozenset({"required"}),
    ),
    Wire(
        "anthropic",
        AnthropicDialect(),
        _anthropic_reply,
        _anthropic_events,
        _event(_typed_error("overloaded_error", "busy"), "error"),
        _typed_error,
    ),
    Wire(
        "gemini",
        GeminiDialect(),
        _gemini_reply,
        _gemini_events,
        _event({"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}),
        _gemini_error,
    ),
    Wire(
        "bedrock",
        ConverseDialect(),
        _bedrock_reply,
        _bedrock_events,
        framed("exception", "serviceUnavailableException", {"message": "busy"}),
        lambda code, message: {"__type": code, "message": message},
        media_type="application/vnd.amazon.eventstream",
        broken=b"\x00\x00\x00\x10not a frame.",
        key=None,
        model="m",
    ),
    Wire(
        "ollama",
        OllamaDialect(),
        _ollama_reply,
        _ollama_events,
        orjson.dumps({"error": "busy"}) + b"\n",
        lambda code, message: {"error": f"{code}: {message}"},
        media_type="application/x-ndjson",
        broken=b"{oops\n",
        reports_cached=False,
        finishes=("stop", "length"),
        offers=frozenset({"stop"}),
    ),
)
