"""Chat: whole replies, streams and structured output, with cache, retries and spend caps. Flows, run by the drivers."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar, Unpack

import orjson
from pydantic import BaseModel, ValidationError

from gateleg.ai.chat_requests import AnswerSchema, chat_request, file_problems
from gateleg.ai.errors import AiError, BadStructure, InvalidModelRequest, NotOffered, StreamBroken
from gateleg.ai.messages import Assistant, Message, System, User
from gateleg.ai.provider import FileProvider
from gateleg.ai.replies import NOTHING, Delta, ReplyBuilder, Structured, estimate, forecast_chat
from gateleg.ai.steps import EmitPiece

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateleg.ai.addresses import ModelAddress
    from gateleg.ai.chat_requests import AskOptions, ChatRequest
    from gateleg.ai.messages import Attachment, UploadedFile
    from gateleg.ai.provider import ChatProvider
    from gateleg.ai.replies import Reply, TokenCount, Usage
    from gateleg.ai.setup import CallDeadline, ModelSetup
    from gateleg.ai.steps import Flow

M = TypeVar("M", bound=BaseModel)
_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)
_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_MAX_PROBLEMS = 10


@dataclass(frozen=True)
class ChatFlows:
    """A model that answers messages."""

    address: ModelAddress
    provider: ChatProvider
    setup: ModelSetup
    #: whether replies are cached in the store
    cache: bool = False

    def reply(self, messages: Iterable[Message], **options: Unpack[AskOptions]) -> Flow[Reply]:
        """The whole reply."""
        return self._reply(chat_request(messages, options))

    def stream(self, messages: Iterable[Message], **options: Unpack[AskOptions]) -> Flow[None]:
        """Stream the reply piece by piece; the last piece has the whole reply. To cancel, close the iterator, or cancel the task."""
        return self._stream(chat_request(messages, options))

    def structured(
        self, model: type[M], messages: Iterable[Message], *, repairs: int = 2, **options: Unpack[AskOptions]
    ) -> Flow[Structured[M]]:
        """A reply validated as a pydantic model. An invalid reply is sent back with its problems up to `repairs` times; then
        `BadStructure`.
        """
        shape = shape_of(model)
        return self._structured(model, chat_request(with_schema_instructions(messages, shape), options, shape), repairs)

    def upload(self, file: Attachment) -> Flow[UploadedFile]:
        """Upload a file to the provider, to refer to it in messages. Raises `NotOffered` if the provider does not store files."""
        # It is not retried, which could store the file twice.
        provider = self._file_provider()
        for problem in file_problems(file):
            raise InvalidModelRequest(problem)
        return (yield from provider.upload(file, self.setup.retry_policy.deadline()))

    def forget(self, upload: UploadedFile) -> Flow[None]:
        """Delete an uploaded file at the provider."""
        provider = self._file_provider()
        yield from self.setup.retry_policy.attempts(lambda deadline: provider.forget(upload, deadline))

    def _file_provider(self) -> FileProvider:
        if not isinstance(self.provider, FileProvider):
            raise NotOffered(f"{self.address.name} does not store files.", fix="Send the file with the message, as an Attachment.")
        return self.provider

    def count(self, text: str) -> Flow[TokenCount]:
        """Count the tokens of a text for this model."""
        return (yield from self.setup.retry_policy.attempts(lambda deadline: self.provider.count(text, deadline)))

    def _reply(self, request: ChatRequest) -> Flow[Reply]:
        known = yield from self._read_cache(request)
        if known is not None:
            return known
        call = self.setup.retry_policy.attempts(lambda deadline: self.provider.reply(request, deadline), request.timeout)
        forecast = self._forecast(request)
        reply, usage = yield from self.setup.metered(
            self.address, forecast, call, lambda reply: reply.usage.or_estimate(_estimated_usage(forecast, reply.text + reply.reasoning))
        )
        return (yield from self._write_cache(request, replace(reply, usage=usage)))

    def _stream(self, request: ChatRequest) -> Flow[None]:
        known = yield from self._read_cache(request)
        if known is not None:
            if known.text:
                yield EmitPiece(Delta(text=known.text))
            yield EmitPiece(Delta(reply=known))
            return
        forecast, builder = self._forecast(request), ReplyBuilder()
        # Only failures before the first piece are retried, so no piece is collected twice.
        call = self.setup.retry_policy.attempts(lambda deadline: self._streamed(request, deadline, builder), request.timeout)
        reply, usage = yield from self.setup.metered(
            self.address,
            forecast,
            call,
            lambda reply: reply.usage.or_estimate(_estimated_usage(forecast, builder.written)),
            lambda: _estimated_usage(forecast, builder.written),
        )
        yield EmitPiece(Delta(reply=(yield from self._write_cache(request, replace(reply, usage=usage)))))

    def _structured(self, model: type[M], request: ChatRequest, repairs: int) -> Flow[Structured[M]]:
        usage, attempt = NOTHING, 0
        while True:
            attempt += 1
            reply = yield from self._reply(request)
            usage += reply.usage
            try:
                return Structured(read_structure(model, reply.text), reply, usage, attempt)
            except StructureMismatch as mismatch:
                if attempt > repairs:
                    raise _structure_error(model, reply, mismatch, attempt) from None
                request = replace(request, messages=with_correction(request.messages, reply, mismatch.problems))

    def _streamed(self, request: ChatRequest, deadline: CallDeadline, builder: ReplyBuilder) -> Flow[Reply]:
        try:
            return (yield from self.provider.stream(request, deadline, builder))
        except AiError as error:
            if not builder.begun:
                raise
            broken = StreamBroken(f"The stream broke in the middle of the answer. {error.message}", text=builder.text)
            broken.public = f"The stream broke in the middle of the answer. {error.public or ''}".strip()
            raise broken from error

    def _read_cache(self, request: ChatRequest) -> Flow[Reply | None]:
        if not self.cache:
            return None
        from gateleg.ai.cache import chat_digest, read_entries, reply_of

        digest = chat_digest(str(self.address), request)
        entry = (yield from read_entries([digest])).get(digest)
        reply = None if entry is None else reply_of(entry)
        return None if reply is None else replace(reply, cached=True, usage=NOTHING)

    def _forecast(self, request: ChatRequest) -> Usage:
        return forecast_chat(request, self.setup.settings.caps.output_tokens)

    def _write_cache(self, request: ChatRequest, reply: Reply) -> Flow[Reply]:
        if self.cache and reply.finish != "filtered":
            from gateleg.ai.cache import chat_digest, reply_entry, write_entries

            model = str(self.address)
            yield from write_entries([reply_entry(chat_digest(model, request), model, reply, self.setup.settings.cache_days)])
        return reply


def _estimated_usage(forecast: Usage, written: str) -> Usage:
    return replace(forecast, output=estimate(written).tokens)


def _structure_error(model: type[BaseModel], reply: Reply, mismatch: StructureMismatch, attempts: int) -> BadStructure:
    short = " It ran out of tokens." if reply.finish == "length" else ""
    return BadStructure(
        f"The model did not return a valid {model.__name__} in {attempts} attempts: {str(mismatch).rstrip('.')}.{short}",
        text=reply.text,
        problems=mismatch.problems,
        attempts=attempts,
    )


class StructureMismatch(Exception):
    """A reply does not match the schema. `problems` describes why, in words for the model."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


def shape_of(model: type[BaseModel]) -> AnswerSchema:
    """The shape that a pydantic model describes."""
    return AnswerSchema(_NAME.sub("_", model.__name__)[:64], model.model_json_schema())


def with_schema_instructions(messages: Iterable[Message], shape: AnswerSchema) -> tuple[Message, ...]:
    """Prepend the schema as a system message, also for providers that enforce it: its descriptions explain the fields."""
    words = (
        "Answer with one JSON object and nothing else: no explanation, no code fence. "
        f"It must satisfy this JSON schema:\n{orjson.dumps(shape.schema).decode()}"
    )
    return (System(words), *messages)


def read_structure(model: type[M], text: str) -> M:
    """Parse and validate the JSON object in a reply. Raises `StructureMismatch`."""
    answer = _object_in(text)
    if answer is None:
        raise StructureMismatch(["The answer is not a JSON object."])
    try:
        return model.model_validate_json(answer)
    except ValidationError as error:
        problems = [
            f"{'.'.join(map(str, problem['loc'])) or 'the object'}: {problem['msg']}"
            for problem in error.errors(include_url=False, include_input=False, include_context=False)
        ]
        raise StructureMismatch(problems) from None


def with_correction(messages: tuple[Message, ...], reply: Reply, problems: list[str]) -> tuple[Message, ...]:
    """Append the invalid reply and a request to correct its problems."""
    problem_list = "\n".join(f"- {problem}" for problem in problems[:_MAX_PROBLEMS])
    rejected = Assistant(reply.text or "(no text)")
    return (
        *messages,
        rejected,
        User(f"That answer is refused:\n{problem_list}\nAnswer again with the whole corrected JSON object and nothing else."),
    )


def _object_in(text: str) -> str | None:
    """The first JSON object in a text: models often add prose around it, or a code fence."""
    fenced = _FENCE.search(text)
    for candidate in ([fenced.group(1)] if fenced else []) + [text]:
        start = candidate.find("{")
        while start >= 0:
            try:
                _, end = json.JSONDecoder(strict=False).raw_decode(candidate, start)
            except (ValueError, RecursionError):
                start = candidate.find("{", start + 1)
                continue
            return candidate[start:end]
    return None
