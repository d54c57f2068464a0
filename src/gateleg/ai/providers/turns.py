"""Messages as turns of content blocks.

Consecutive messages of a role are one turn: the APIs require roles to alternate, and all tool results of a turn to be together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.ai.messages import Assistant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gateleg.ai.messages import Message


def turns_of(
    messages: Iterable[Message], blocks: Callable[[Message], list[dict[str, Any]]], *, member: str = "content", model: str = "assistant"
) -> list[dict[str, Any]]:
    """The messages as turns of content blocks; `member` holds the blocks, and `model` is the role of the model."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        role = model if isinstance(message, Assistant) else "user"
        if not turns or turns[-1]["role"] != role:
            turns.append({"role": role, member: []})
        turns[-1][member] += blocks(message)
    return [turn for turn in turns if turn[member]]
