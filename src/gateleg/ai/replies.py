"""Replies of a model, their deltas while they are streamed, and their usage: tokens, estimates of them, and what they cost.

All prices come from the settings: none is built in, because they change. Estimates are upper bounds rather than exact, because spend caps
rely on them.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Generic, Literal, Self, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, Field, model_validator

from gateleg.ai.messages import Assistant, ToolCall, estimated_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gateleg.ai.chat_requests import ChatRequest

__all__ = ["CallDelta", "Delta", "Finish", "Meter", "Reply", "Structured", "TokenCount", "Usage", "estimate"]

T_co = TypeVar("T_co", covariant=True)

_MILLION = Decimal(1_000_000)
#: Bytes of UTF-8 per token, a rule of thumb for current vocabularies; an overestimate for other scripts and for code.
_BYTES = 3.6
#: Tokens around each message: roles and separators.
_TOKENS_AROUND_MESSAGE = 8
#: Why a model stopped: it was done (or met a stop sequence), it ran out of tokens, it called tools, or a filter intervened.
Finish = Literal["stop", "length", "tools", "filtered"]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counts them, and their cost by the configured prices."""

    input: int = 0
    output: int = 0
    #: how many of the input tokens the provider had cached
    cached: int = 0
    #: None if a part of it has no known price
    cost: Decimal | None = None
    #: requests, images and seconds of video or sound, if the provider bills them
    requests: int = 0
    images: int = 0
    seconds: Decimal = Decimal(0)
    #: whether the numbers are estimates, because the provider did not report them
    estimated: bool = False

    @property
    def total(self) -> int:
        """The total number of tokens."""
        return self.input + self.output

    def __add__(self, other: Usage) -> Usage:
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cached + other.cached,
            cost,
            self.requests + other.requests,
            self.images + other.images,
            self.seconds + other.seconds,
            self.estimated or other.estimated,
        )

    def or_estimate(self, guess: Usage) -> Usage:
        """This usage, or the estimate if the provider has reported nothing."""
        return self if self != Usage() else replace(guess, estimated=True)


#: The start value of sums.
NOTHING = Usage(cost=Decimal(0))


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply of a model."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    finish: Finish = "stop"
    usage: Usage = Usage()
    #: the model as its provider names it in the response
    model: str = ""
    #: the model's reasoning, if the provider shows it
    reasoning: str = ""
    #: whether it came from the cache, and so used nothing
    cached: bool = False

    @property
    def message(self) -> Assistant:
        """The reply as a message, to continue the conversation."""
        return Assistant(self.text, self.calls)


@dataclass(frozen=True, slots=True)
class CallDelta:
    """A piece of a tool call. The first one has its id and name; together they have the text of its arguments."""

    #: the index of the call in this reply
    index: int
    id: str = ""
    name: str = ""
    text: str = ""
    signature: str = ""


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a streamed reply. The last one has the whole reply."""

    text: str = ""
    call: CallDelta | None = None
    reasoning: str = ""
    reply: Reply | None = None


@dataclass(frozen=True, slots=True)
class Structured(Generic[T_co]):
    """A validated structure, and the usage of getting it."""

    value: T_co
    #: the last reply
    reply: Reply
    #: the usage of all attempts together
    usage: Usage
    attempts: int


@dataclass(frozen=True, slots=True)
class TokenCount:
    """The number of tokens of a text for a model. Not `exact`: an estimate, because the provider offers no way to count."""

    tokens: int
    exact: bool


@dataclass
class ReplyBuilder:
    """Builds a reply from its pieces."""

    reply: Reply = Reply()
    _text: list[str] = field(default_factory=list)
    _reasoning: list[str] = field(default_factory=list)
    _calls: dict[int, CallDelta] = field(default_factory=dict)

    @property
    def begun(self) -> bool:
        """Whether a piece has been received."""
        return bool(self._text or self._reasoning or self._calls)

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._text)

    @property
    def written(self) -> str:
        """Everything that the model has written so far: text, reasoning and arguments of calls."""
        return "".join((*self._text, *self._reasoning, *(call.text for call in self._calls.values())))

    def add(self, delta: Delta) -> None:
        """Add a piece."""
        if delta.text:
            self._text.append(delta.text)
        if delta.reasoning:
            self._reasoning.append(delta.reasoning)
        if delta.call is not None:
            new, had = delta.call, self._calls.get(delta.call.index, CallDelta(delta.call.index))
            self._calls[new.index] = CallDelta(
                new.index, new.id or had.id, new.name or had.name, had.text + new.text, new.signature or had.signature
            )

    def whole(self, finish: Finish, usage: Usage, model: str) -> Reply:
        """The whole reply."""
        calls = tuple(
            ToolCall(call.id or f"call_{call.index}", call.name, call.text or "{}", call.signature)
            for _, call in sorted(self._calls.items())
        )
        return replace(
            self.reply,
            text=self.text,
            calls=calls,
            finish="tools" if calls and finish == "stop" else finish,
            usage=usage,
            model=model,
            reasoning="".join(self._reasoning),
        )


class Price(BaseModel):
    """The price of a model in any currency: per million tokens, per request, per image, per second of video or sound."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: Decimal = Field(default=Decimal(0), ge=0, description="a million input tokens")
    output: Decimal = Field(default=Decimal(0), ge=0, description="a million output tokens")
    cached: Decimal | None = Field(default=None, ge=0, description="a million cached input tokens; the same as `input` by default")
    request: Decimal = Field(default=Decimal(0), ge=0, description="one request, such as a search with a reranker")
    image: Decimal = Field(default=Decimal(0), ge=0, description="one image")
    second: Decimal = Field(default=Decimal(0), ge=0, description="one second of video or sound")

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("a price must set at least one value; for a free model, set input = 0")
        return self

    def of(self, usage: Usage) -> Decimal:
        """The cost of a usage."""
        cached = self.input if self.cached is None else self.cached
        tokens = (usage.input - usage.cached) * self.input + usage.cached * cached + usage.output * self.output
        return tokens / _MILLION + usage.requests * self.request + usage.images * self.image + usage.seconds * self.second


class Meter:
    """Counts calls and usage by model. Thread-safe; `listen` is called with every usage."""

    def __init__(self, listen: Callable[[str, Usage], None] | None = None) -> None:
        self._listen = listen
        self._lock = threading.Lock()
        self._totals: dict[str, Usage] = {}

    def add(self, model: str, usage: Usage) -> None:
        """Add the usage of a call."""
        with self._lock:
            self._totals[model] = self._totals.get(model, NOTHING) + usage
        if self._listen is not None:
            self._listen(model, usage)

    def totals(self) -> dict[str, Usage]:
        """The usage so far, by model address. A cost of None means that there were calls without a known price."""
        with self._lock:
            return dict(self._totals)

    def reset(self) -> dict[str, Usage]:
        """Reset to zero. Returns the totals until now."""
        with self._lock:
            totals, self._totals = self._totals, {}
            return totals


def estimate(text: str) -> TokenCount:
    """A conservative estimate."""
    return TokenCount(math.ceil(len(text.encode("utf-8", "replace")) / _BYTES), exact=False)


def forecast_chat(request: ChatRequest, output_tokens: int) -> Usage:
    """The input tokens of a request and its maximum output; `output_tokens` if the request sets no maximum."""
    texts = [message.text for message in request.messages]
    texts += [call.name + call.text for message in request.messages if isinstance(message, Assistant) for call in message.calls]
    texts += [tool.name + tool.description + orjson.dumps(tool.parameters).decode() for tool in request.tools]
    if request.shape is not None:
        texts.append(orjson.dumps(request.shape.schema).decode())
    read = sum(estimate(text).tokens + _TOKENS_AROUND_MESSAGE for text in texts) + sum(map(estimated_tokens, request.files))
    return Usage(input=read, output=request.max_tokens or output_tokens, requests=1)


def forecast_texts(texts: Sequence[str]) -> Usage:
    """The input tokens of texts to embed."""
    return Usage(input=sum(estimate(text).tokens for text in texts), requests=1)
