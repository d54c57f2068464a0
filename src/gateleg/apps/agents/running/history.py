"""What a model is shown of a thread: the newest turns that fit into a token budget, and a summary of what came before. Pure.

A turn is a message with the tool calls that it made. Turns are kept whole: a model is never shown a call without its result, or a result
without its call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateleg.ai import Assistant, System, ToolCall, ToolResult, User

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gateleg.ai import Attachment, Message, UploadedFile

__all__ = ["CallRecord", "History", "Turn", "fit_history", "messages_of", "prompt_of"]

#: Tokens that a provider adds around each message, about.
_AROUND = 4
_UNANSWERED = "There is no result: the call was never made."


@dataclass(frozen=True, slots=True)
class CallRecord:
    """A tool call of a turn, and its result."""

    call_id: str
    name: str
    arguments: str = "{}"
    result: str | None = None
    failed: bool = False
    signature: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of a thread, with the tool calls that it made."""

    #: the id of the message: ids are in the order of time
    id: str
    role: str
    text: str
    calls: tuple[CallRecord, ...] = ()
    files: tuple[Attachment | UploadedFile, ...] = ()


@dataclass(frozen=True, slots=True)
class History:
    """What was chosen, oldest first."""

    turns: tuple[Turn, ...]
    #: about how many tokens it has
    tokens: int
    #: whether older turns were left out
    cut: bool


def fit_history(newest_first: Iterable[Turn], *, tokens: int, most: int, count: Callable[[str], int]) -> History:
    """The newest turns that have at most `tokens` together, and are at most `most`; the newest one always.

    It stops reading at the first turn that does not fit, and begins with something that a person said where it can.
    """
    chosen: list[Turn] = []
    used, cut = 0, False
    for turn in newest_first:
        size = _size(turn, count)
        if chosen and (used + size > tokens or len(chosen) >= most):
            cut = True
            break
        chosen.append(turn)
        used += size
    while len(chosen) > 1 and cut and chosen[-1].role != "user" and any(turn.role == "user" for turn in chosen):
        used -= _size(chosen.pop(), count)
    return History(tuple(reversed(chosen)), used, cut)


def _size(turn: Turn, count: Callable[[str], int]) -> int:
    texts = (turn.text, *(part for call in turn.calls for part in (call.name, call.arguments, call.result or "")))
    return sum(count(text) for text in texts if text) + _AROUND * (1 + 2 * len(turn.calls))


def messages_of(turn: Turn, name: Callable[[str], str] = lambda name: name) -> list[Message]:
    """A turn as messages to a model: its text and calls, then the results. `name` gives the name of a tool as the model knows it."""
    if turn.role == "user":
        return [User(turn.text, turn.files)]
    if turn.role in ("system", "developer"):
        return [System(turn.text)]
    calls = tuple(ToolCall(call.call_id, name(call.name), call.arguments, call.signature) for call in turn.calls)
    if not calls:
        return [Assistant(turn.text)] if turn.text else []
    results = [
        ToolResult(call.call_id, name(call.name), _UNANSWERED if call.result is None else call.result, call.failed or call.result is None)
        for call in turn.calls
    ]
    return [Assistant(turn.text, calls), *results]


def prompt_of(instructions: str, summary: str, turns: Sequence[Turn], name: Callable[[str], str] = lambda name: name) -> list[Message]:
    """All that a model is shown: what it is to do, what was said before, and the turns."""
    found: list[Message] = []
    if instructions:
        found.append(System(instructions))
    if summary:
        found.append(System(f"What was said before, in short:\n{summary}"))
    return [*found, *(message for turn in turns for message in messages_of(turn, name))]
