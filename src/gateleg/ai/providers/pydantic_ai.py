"""Any model of pydantic-ai as a chat model: for services that no dialect here speaks.

The library is awaited: by the event loop under `AsyncModels`, and by a loop in a thread of its own under `Models`.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import orjson

from gateleg.ai.error_translation import error_for
from gateleg.ai.errors import (
    AiError,
    ContextExceeded,
    ExtraMissing,
    InvalidModelRequest,
    InvalidModelResponse,
    ModelFailed,
    ModelTimedOut,
    ModelUnreachable,
    NotOffered,
)
from gateleg.ai.messages import Assistant, Attachment, System, ToolResult, User, kind_of, with_texts
from gateleg.ai.replies import CallDelta, Delta, ReplyBuilder, Usage, estimate
from gateleg.ai.steps import EmitPiece, Offload, Receive, Subscribe, completed
from gateleg.extras import install_hint
from gateleg.net import retry_after

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from gateleg.ai.chat_requests import ChatRequest
    from gateleg.ai.messages import Message
    from gateleg.ai.replies import Finish, Reply, TokenCount
    from gateleg.ai.setup import CallDeadline
    from gateleg.ai.steps import Flow, Source

_FINISHES: dict[str, Finish] = {"stop": "stop", "length": "length", "content_filter": "filtered", "tool_call": "tools"}


class PydanticAiChat:
    """A model of pydantic-ai: a `Model`, or its name such as `mistral:mistral-large-latest`, whose key pydantic-ai finds.

    Use it with `models.chat_with(PydanticAiChat(model), "pydantic-ai:a-name")`; calls are recorded and priced under that name.
    """

    def __init__(self, model: Any) -> None:
        self._messages = _import("pydantic_ai.messages")
        self._direct = _import("pydantic_ai.direct")
        self._models = _import("pydantic_ai.models")
        self._model = model

    def reply(self, request: ChatRequest, deadline: CallDeadline) -> Flow[Reply]:
        """The whole reply."""
        model = yield from self._opened()
        ask = partial(self._direct.model_request, model, self._history(request), **self._options(model, request))

        async def items() -> AsyncGenerator[Any, None]:
            yield await ask()

        response = yield from self._received(items, deadline)
        builder = ReplyBuilder()
        for delta in _deltas_of(response):
            builder.add(delta)
        return _whole(builder, response)

    def stream(self, request: ChatRequest, deadline: CallDeadline, builder: ReplyBuilder) -> Flow[Reply]:
        """Stream the reply piece by piece."""
        model = yield from self._opened()
        ask = partial(self._direct.model_request_stream, model, self._history(request), **self._options(model, request))

        async def items() -> AsyncGenerator[Any, None]:
            async with ask() as stream:
                async for event in stream:
                    yield event
                yield stream.get()

        reader = _EventReader()
        source: Source = yield Subscribe(items)
        try:
            while (item := (yield from _next(source, deadline))) is not None:
                if hasattr(item, "parts"):
                    return _whole(builder, item)
                for delta in reader.read(item):
                    builder.add(delta)
                    yield EmitPiece(delta)
        finally:
            source.close()
        raise ModelUnreachable("The stream ended before the reply was complete.")

    def count(self, text: str, deadline: CallDeadline) -> Flow[TokenCount]:
        """Estimate the tokens of a text."""
        return completed(estimate(text))

    def _opened(self) -> Flow[Any]:
        """The model. One that is only named is imported first, with the SDK that it needs."""
        if isinstance(self._model, str):
            self._model = yield Offload(partial(_named, self._models, self._model))
        return self._model

    def _received(self, items: Callable[[], AsyncGenerator[Any, None]], deadline: CallDeadline) -> Flow[Any]:
        source: Source = yield Subscribe(items)
        try:
            return (yield from _next(source, deadline))
        finally:
            source.close()

    def _options(self, model: Any, request: ChatRequest) -> dict[str, Any]:
        settings = {
            "temperature": request.temperature,
            "max_tokens": request.max_tokens,
            "seed": request.seed,
            "stop_sequences": list(request.stop) or None,
            "tool_choice": _tool_choice(request),
        }
        tools = _import("pydantic_ai.tools")
        parameters: dict[str, Any] = {
            "function_tools": [
                tools.ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=tool.parameters)
                for tool in request.tools
            ]
        }
        # Other models are asked in the prompt, which has the schema.
        if request.shape is not None and model.profile.get("supports_json_schema_output"):
            shape = _import("pydantic_ai.output").OutputObjectDefinition(json_schema=request.shape.schema, name=request.shape.name)
            parameters |= {"output_mode": "native", "output_object": shape}
        return {
            "model_settings": {name: value for name, value in settings.items() if value is not None},
            "model_request_parameters": self._models.ModelRequestParameters(**parameters),
        }

    def _history(self, request: ChatRequest) -> list[Any]:
        """The messages in the library's form, in which all that is not said by the model is one request."""
        history: list[Any] = []
        for message in request.messages:
            if isinstance(message, Assistant):
                history.append(self._messages.ModelResponse(parts=self._response_parts(message)))
                continue
            if not history or history[-1].kind != "request":
                history.append(self._messages.ModelRequest(parts=[]))
            history[-1].parts.append(self._request_part(message))
        return history

    def _response_parts(self, message: Assistant) -> list[Any]:
        parts = [self._messages.TextPart(content=message.text)] if message.text else []
        return parts + [
            self._messages.ToolCallPart(tool_name=call.name, args=call.tolerant, tool_call_id=call.id) for call in message.calls
        ]

    def _request_part(self, message: Message) -> Any:
        if isinstance(message, System):
            return self._messages.SystemPromptPart(content=message.text)
        if isinstance(message, ToolResult):
            outcome = "failed" if message.failed else "success"
            return self._messages.ToolReturnPart(
                tool_name=message.name, content=message.text, tool_call_id=message.call_id, outcome=outcome
            )
        assert isinstance(message, User)
        files = []
        for file in message.files:
            if not isinstance(file, Attachment):
                raise NotOffered("Models of pydantic-ai are sent files as attachments.", fix="Send the file as an Attachment.")
            if kind_of(file) != "text":
                files.append(self._messages.BinaryContent(data=file.data, media_type=file.media_type))
        text = with_texts(message)
        return self._messages.UserPromptPart(content=[*files, text] if files else text)


class _EventReader:
    """Reads the events of one reply."""

    def __init__(self) -> None:
        #: index of the tool call by part
        self._calls: dict[int, int] = {}

    def read(self, event: Any) -> list[Delta]:
        """The pieces in an event."""
        if event.event_kind == "part_start":
            return self.part(event.index, event.part)
        if event.event_kind != "part_delta":
            return []
        delta = event.delta
        match delta.part_delta_kind:
            case "text":
                return [Delta(text=delta.content_delta)] if delta.content_delta else []
            case "thinking":
                return [Delta(reasoning=delta.content_delta)] if delta.content_delta else []
            case "tool_call":
                text = _arguments(delta.args_delta)
                return [Delta(call=CallDelta(self._calls[event.index], delta.tool_call_id or "", delta.tool_name_delta or "", text))]
        return []

    def part(self, index: int, part: Any) -> list[Delta]:
        """The pieces in a part, which may be whole or only begun."""
        match part.part_kind:
            case "text":
                return [Delta(text=part.content)] if part.content else []
            case "thinking":
                return [Delta(reasoning=part.content)] if part.content else []
            case "tool-call":
                number = self._calls[index] = len(self._calls)
                return [Delta(call=CallDelta(number, part.tool_call_id, part.tool_name, _arguments(part.args)))]
        return []


def _import(module: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("pydantic_ai"):
            raise
        raise ExtraMissing("The package pydantic-ai is not installed.", fix=install_hint("pydantic-ai")) from error


def _named(models: Any, name: str) -> Any:
    """The model of a name. The library refuses unknown names, missing keys and missing SDKs in its own words."""
    try:
        return models.infer_model(name)
    except Exception as error:
        raise InvalidModelRequest(
            f"pydantic-ai cannot open {name!r}: {error}", fix="Install and configure it as pydantic-ai asks."
        ) from error


def _tool_choice(request: ChatRequest) -> Any:
    if not request.tools or request.tool_choice == "auto":
        return None
    return request.tool_choice if request.tool_choice in ("none", "required") else [request.tool_choice]


def _next(source: Source, deadline: CallDeadline) -> Flow[Any]:
    """The next item of a subscription, with the library's errors translated."""
    try:
        return (yield Receive(source, deadline.wait()))
    except AiError:
        raise
    except Exception as error:
        raise _failure(error) from error


def _failure(error: Exception) -> AiError:
    """The error for one of the library, which has a status if the service answered."""
    kinds = {kind.__name__ for kind in type(error).__mro__}
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        if "ModelContextWindowExceededError" in kinds:
            return ContextExceeded(f"The service answered {status}: {error}")
        return error_for(status, "", _message(getattr(error, "body", None)), retry_after(getattr(error, "headers", None) or {}))
    if "ModelTimeoutError" in kinds or "ModelRequestTimeout" in kinds or isinstance(error, TimeoutError):
        return ModelTimedOut("The model's service did not answer in time.")
    if "ModelConnectionError" in kinds or isinstance(error, OSError):
        return ModelUnreachable(f"The model's service could not be reached ({type(error).__name__}).")
    if "UserError" in kinds:
        return InvalidModelRequest(f"pydantic-ai refuses the call: {error}", fix="Correct the call, or the configuration of the model.")
    if "ModelAPIError" in kinds:
        return ModelFailed(f"The model's service failed ({type(error).__name__}).")
    bad = InvalidModelResponse(f"pydantic-ai could not read the response: {type(error).__name__}: {str(error)[:200]}.")
    bad.public = InvalidModelResponse.said
    return bad


def _message(body: Any) -> str:
    error = body.get("error", body) if isinstance(body, dict) else body
    return str((error.get("message") if isinstance(error, dict) else error) or "")


def _deltas_of(response: Any) -> list[Delta]:
    """A whole reply as its pieces."""
    reader = _EventReader()
    return [delta for index, part in enumerate(response.parts) for delta in reader.part(index, part)]


def _arguments(args: Any) -> str:
    return args if isinstance(args, str) else "" if args is None else orjson.dumps(args).decode()


def _whole(builder: ReplyBuilder, response: Any) -> Reply:
    if response.finish_reason == "error":
        raise ModelFailed("The model ended its reply with an error.")
    usage = response.usage
    tokens = Usage(usage.input_tokens, usage.output_tokens, usage.cache_read_tokens)
    return builder.whole(_FINISHES.get(response.finish_reason or "", "stop"), tokens, response.model_name or "")
