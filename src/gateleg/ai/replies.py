"""Replies of a model, their deltas while they are streamed, and their usage."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Generic, Literal, TypeVar

from gateleg.ai.messages import Assistant, ToolCall

__all__ = ["CallDelta", "Delta", "Finish", "Reply", "Structured", "TokenCount", "Usage"]

#: Why a model stopped: it was done (or met a stop text), it ran out of tokens, it wants tools called, or a filter stepped in.
Finish = Literal["stop", "length", "tools", "filtered"]
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counts them, and what they cost by the price table that was given."""

    input: int = 0
    output: int = 0
    #: how many of the input tokens the provider had in a cache of its own
    cached: int = 0
    #: None when no price is known for a part of it
    cost: Decimal | None = None
    #: requests, images and seconds of video or sound, where the provider charges by them
    requests: int = 0
    images: int = 0
    seconds: Decimal = Decimal(0)
    #: the provider did not say, or not yet: the numbers are estimates
    estimated: bool = False

    @property
    def total(self) -> int:
        """All tokens."""
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

    def or_estimated(self, guess: Usage) -> Usage:
        """This usage; the guess, where the provider has not said anything."""
        return self if self != Usage() else replace(guess, estimated=True)


#: Where sums begin.
NOTHING = Usage(cost=Decimal(0))


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    finish: Finish = "stop"
    usage: Usage = Usage()
    #: the model as its provider names it in the answer
    model: str = ""
    #: what the model thought before it spoke, where the provider shows that
    reasoning: str = ""
    #: whether it came from the cache, and so took nothing
    cached: bool = False

    @property
    def message(self) -> Assistant:
        """The reply as a message, to go on with the conversation."""
        return Assistant(self.text, self.calls)


@dataclass(frozen=True, slots=True)
class CallDelta:
    """A piece of a tool call: the first has its id and name, all together have the text of its arguments."""

    #: which call of this reply
    index: int
    id: str = ""
    name: str = ""
    text: str = ""
    signature: str = ""


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a reply that is being written. The last one has the whole reply."""

    text: str = ""
    call: CallDelta | None = None
    reasoning: str = ""
    reply: Reply | None = None


@dataclass(frozen=True, slots=True)
class Structured(Generic[T_co]):
    """A structure that a model gave, and what it took to get it."""

    value: T_co
    #: the last reply
    reply: Reply
    #: of all attempts together
    usage: Usage
    attempts: int


@dataclass(frozen=True, slots=True)
class TokenCount:
    """How many tokens a text has for a model. Not `exact`: an estimate, as the provider offers no way to count here."""

    tokens: int
    exact: bool


@dataclass
class Gathering:
    """Puts a reply together from its pieces."""

    reply: Reply = Reply()
    _text: list[str] = field(default_factory=list)
    _reasoning: list[str] = field(default_factory=list)
    _calls: dict[int, CallDelta] = field(default_factory=dict)

    @property
    def begun(self) -> bool:
        """Whether a piece has come."""
        return bool(self._text or self._reasoning or self._calls)

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._text)

    @property
    def written(self) -> str:
        """All that the model has written so far: text, reasoning and the arguments of calls."""
        return "".join((*self._text, *self._reasoning, *(call.text for call in self._calls.values())))

    def add(self, delta: Delta) -> None:
        """Take in a piece."""
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
        """The reply, at its end."""
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
