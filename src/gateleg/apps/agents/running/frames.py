"""Frames: the indexed pieces of a run's stream. A client that reconnects continues after the last index it has.

Frames are numbered from 0 without gaps, across all jobs and attempts of a run. A `restart` frame means that the worker died and the current
reply is written again: clients discard the text since the last `message` frame.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["ENDS", "Frame", "FrameKind", "reply_text"]

FrameKind = Literal["status", "text", "reasoning", "call", "result", "message", "restart", "end"]
#: Run statuses that end a stream. A suspended or retried run streams again later.
ENDS = frozenset({"completed", "failed", "cancelled", "expired", "requires_action"})


class Frame(BaseModel):
    """One piece of a run's stream."""

    model_config = ConfigDict(frozen=True)

    #: position in the run's stream; -1 if not yet assigned
    index: int = -1
    kind: FrameKind
    #: `text` and `reasoning`: the next characters
    delta: str = ""
    #: number of the model reply that it belongs to, from 1
    step: int = 0
    #: `status` and `end`: the run's status; `call` and `result`: the tool call's status
    status: str = ""
    #: id of the message or tool call
    id: str = ""
    #: `call`: the tool's name
    name: str = ""
    #: `call`: arguments; `result`: the tool's result; `end`: output, usage, cost and error
    data: Any = Field(default=None)

    @property
    def ends(self) -> bool:
        """Whether this frame ends the stream."""
        return self.kind == "end"

    def to_event(self) -> dict[str, Any]:
        """Convert to a job event. The index is left out: it follows from the event's position in its job."""
        return self.model_dump(mode="json", exclude_defaults=True, exclude={"index"}) | {"kind": self.kind}

    @classmethod
    def of_event(cls, event: dict[str, Any], index: int) -> Frame:
        """Convert from a job event."""
        return cls.model_validate({**event, "index": index})


def reply_text(frames: list[Frame]) -> str:
    """The text of the last reply, as a client that received these frames displays it."""
    text, step = "", 0
    for frame in frames:
        if frame.kind == "restart" or (frame.step != step and frame.kind == "text"):
            text, step = "", frame.step
        if frame.kind == "text":
            text += frame.delta
    return text
