"""Select a thread's history for the model: the newest turns within a token budget, after a summary of earlier ones. Pure.

A turn is a message with its tool calls. Turns are never split, so the model sees no call without its result and no result without its call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateleg.ai import Assistant, System, ToolCall, ToolResult, User

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gateleg.ai import Attachment, Message, UploadedFile

__all__ = ["CallRecord", "History", "Turn", "fit_history", "messages_of", "prompt_of"]

#: Approximate tokens that a provider adds per message.
_MESSAGE_OVERHEAD_TOKENS = 4
_NO_RESULT = "There is no result: the call was never made."


@dataclass(frozen=True, slots=True)
class CallRecord:
    """A tool call of a turn with its result."""

    call_id: str
    name: str
    arguments: str = "{}"
    result: str | None = None
    failed: bool = False
    signature: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of a thread with its tool calls."""

    #: the message id; ids sort by time
    id: str
    role: str
    text: str
    calls: tuple[CallRecord, ...] = ()
    files: tuple[Attachment | UploadedFile, ...] = ()


@dataclass(frozen=True, slots=True)
class History:
    """The selected turns, oldest first."""

    turns: tuple[Turn, ...]
    #: estimated tokens
    tokens: int
    #: whether older turns were left out
    cut: bool


def fit_history(newest_first: Iterable[Turn], *, tokens: int, most: int, count: Callable[[str], int]) -> History:
    """Select at most `most` of the newest turns, within `tokens`. The newest turn is always included.

    Selection stops at the first turn that does not fit; the result starts with a user message where possible.
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
    return sum(count(text) for text in texts if text) + _MESSAGE_OVERHEAD_TOKENS * (1 + 2 * len(turn.calls))


def messages_of(turn: Turn, name: Callable[[str], str] = lambda name: name) -> list[Message]:
    """Convert a turn to model messages: text and calls, then results. `name` maps a tool to the name the model knows."""
    if turn.role == "user":
        return [User(turn.text, turn.files)]
    if turn.role in ("system", "developer"):
        return [System(turn.text)]
    calls = tuple(ToolCall(call.call_id, name(call.name), call.arguments, call.signature) for call in turn.calls)
    if not calls:
        return [Assistant(turn.text)] if turn.text else []
    results = [
        ToolResult(call.call_id, name(call.name), _NO_RESULT if call.result is None else call.result, call.failed or call.result is None)
        for call in turn.calls
    ]
    return [Assistant(turn.text, calls), *results]


def prompt_of(instructions: str, summary: str, turns: Sequence[Turn], name: Callable[[str], str] = lambda name: name) -> list[Message]:
    """The complete prompt: instructions, summary and turns."""
    found: list[Message] = []
    if instructions:
        found.append(System(instructions))
    if summary:
        found.append(System(f"What was said before, in short:\n{summary}"))
    return [*found, *(message for turn in turns for message in messages_of(turn, name))]
