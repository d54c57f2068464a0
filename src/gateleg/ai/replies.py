"""Replies of a model, their deltas while they are streamed, and their usage."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Generic, Literal, TypeVar

from gateleg.ai.messages import Assistant, ToolCall

__all__ = ["CallDelta", "Delta", "Finish", "Reply", "Structured", "TokenCount", "Usage"]

#: Why a model stopped: it was done (or met a stop sequence), it ran out of tokens, it called tools, or a filter intervened.
Finish = Literal["stop", "length", "tools", "filtered"]
T_co = TypeVar("T_co", covariant=True)


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
