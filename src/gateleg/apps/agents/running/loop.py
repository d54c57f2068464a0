"""The tool loop of a run, as a function from what is stored to the next step. Pure.

A run that was interrupted goes on by the same rules as one that was not: what is stored decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateleg.apps.agents.thread_tables import ToolCallStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["AskModel", "CallTools", "Finish", "Interrupted", "NextStep", "Step", "StoredCall", "ToolCallStatus"]
__all__ += ["TooManySteps", "WaitForApproval", "next_step"]


@dataclass(frozen=True, slots=True)
class StoredCall:
    """A tool call as it is stored."""

    id: str
    state: ToolCallStatus
    #: whether it may be made a second time without harm
    repeatable: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """A reply of the model as it is stored, with its calls; without calls it is the answer."""

    number: int
    calls: tuple[StoredCall, ...] = ()


@dataclass(frozen=True, slots=True)
class AskModel:
    """Ask the model; its reply becomes the step of this number. Without `tools` it must answer."""

    number: int
    tools: bool = True


@dataclass(frozen=True, slots=True)
class CallTools:
    """Make these calls, side by side."""

    calls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Interrupted:
    """These calls were being made when their worker died, and whether they took effect is unknown: they have failed."""

    calls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WaitForApproval:
    """Somebody has to approve these calls; until then no worker is needed."""

    calls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Finish:
    """The step of this number is the answer."""

    number: int


@dataclass(frozen=True, slots=True)
class TooManySteps:
    """The model called tools as often as it may, and has still not answered."""

    cap: int


NextStep = AskModel | CallTools | Interrupted | WaitForApproval | Finish | TooManySteps


def next_step(steps: Sequence[Step], *, cap: int) -> NextStep:
    """What a run does next. `cap` is how many replies with tool calls it may have.

    The ask after the last of them offers no tools, so that the model answers with what it has; a call in spite of that ends the run.
    """
    if not steps:
        return AskModel(1, tools=cap > 0)
    last = steps[-1]
    if not last.calls:
        return Finish(last.number)
    if last.number > cap:
        return TooManySteps(cap)
    if broken := _of(last, ToolCallStatus.IN_PROGRESS, repeatable=False):
        return Interrupted(broken)
    ready = tuple(call.id for call in last.calls if call.state in (ToolCallStatus.INITIAL, ToolCallStatus.APPROVED) or _again(call))
    if ready:
        return CallTools(ready)
    if waiting := _of(last, ToolCallStatus.REQUIRES_APPROVAL):
        return WaitForApproval(waiting)
    return AskModel(last.number + 1, tools=last.number < cap)


def _again(call: StoredCall) -> bool:
    return call.state is ToolCallStatus.IN_PROGRESS and call.repeatable


def _of(step: Step, state: ToolCallStatus, *, repeatable: bool | None = None) -> tuple[str, ...]:
    return tuple(call.id for call in step.calls if call.state is state and (repeatable is None or call.repeatable is repeatable))
