"""What is streamed of a run: frames with an index, so that whoever was away goes on where they were.

The frames of a run are numbered from 0 without gaps, over all jobs and attempts of it. A `restart` says that the reply which was being
written is written anew, because its worker died: the text since the last `message` is to be forgotten.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["ENDS", "Frame", "FrameKind", "assemble"]

FrameKind = Literal["status", "text", "reasoning", "call", "result", "message", "restart", "end"]
#: The state of a run after which nothing more is streamed, until somebody has it go on.
ENDS = frozenset({"completed", "failed", "cancelled", "expired", "requires_action"})


class Frame(BaseModel):
    """One piece of a run's stream."""

    model_config = ConfigDict(frozen=True)

    #: its place in the run's stream; -1 until it has one
    index: int = -1
    kind: FrameKind
    #: of `text` and `reasoning`: the next characters
    delta: str = ""
    #: which reply of the model it belongs to, from 1
    step: int = 0
    #: of `status` and `end`: the run's state; of `call` and `result`: that of the tool call
    status: str = ""
    #: the id of the message or of the tool call
    id: str = ""
    #: of `call`: the tool's name
    name: str = ""
    #: of `call`: its arguments; of `result` and `end`: what came of it; of `end`: usage, cost and error as well
    data: Any = Field(default=None)

    @property
    def ends(self) -> bool:
        """Whether the stream is over for now."""
        return self.kind == "end"

    def to_event(self) -> dict[str, Any]:
        """The frame without what it does not have, and without its index: that is its place among the events of its job."""
        return self.model_dump(mode="json", exclude_defaults=True, exclude={"index"}) | {"kind": self.kind}

    @classmethod
    def of_event(cls, event: dict[str, Any], index: int) -> Frame:
        """The frame of an event."""
        return cls.model_validate({**event, "index": index})


def assemble(frames: list[Frame]) -> str:
    """The text that somebody sees who has followed these frames: that of the last reply."""
    text, step = "", 0
    for frame in frames:
        if frame.kind == "restart" or (frame.step != step and frame.kind == "text"):
            text, step = "", frame.step
        if frame.kind == "text":
            text += frame.delta
    return text
