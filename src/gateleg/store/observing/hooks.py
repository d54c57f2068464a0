"""Hooks: called before and after every request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from gateleg.store.flow import Request

__all__ = ["item_count"]


@dataclass(slots=True)
class Call:
    """One request under way."""

    request: Request
    #: seconds from sending to the answer
    seconds: float = 0.0
    #: capacity units that the answer reports
    units: float = 0.0
    #: items in the answer
    items: int = 0
    error: Exception | None = None
    #: how often a transport has sent it, as far as it says
    attempts: int = 1
    #: for the hook's own use between `before` and `after`
    notes: dict[str, Any] = field(default_factory=dict)


class Hook(Protocol):
    """Sees every request. Its methods are called in the thread that sends it, and must not raise."""

    def before(self, call: Call) -> None:
        """The request is about to be sent."""
        ...

    def after(self, call: Call) -> None:
        """The answer is there, or `call.error` says why not."""
        ...


def item_count(reply: dict[str, Any]) -> int:
    """How many items an answer has, or counts."""
    if "Count" in reply:
        return int(reply["Count"])
    if "Responses" in reply:
        answers = reply["Responses"]
        return sum(map(len, answers.values())) if isinstance(answers, dict) else sum("Item" in answer for answer in answers)
    return int("Item" in reply or "Attributes" in reply)
