"""The tool loop of a run: a pure function from the stored steps to the next action.

Because only stored steps decide, an interrupted run resumes by the same rules.
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
    """A stored tool call."""

    id: str
    state: ToolCallStatus
    #: whether the call is idempotent
    repeatable: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """A stored model reply with its tool calls. A reply without calls is the answer."""

    number: int
    calls: tuple[StoredCall, ...] = ()


@dataclass(frozen=True, slots=True)
class AskModel:
    """Ask the model for step `number`. Without `tools` it can only answer."""

    number: int
    tools: bool = True


@dataclass(frozen=True, slots=True)
class CallTools:
    """Make these calls in parallel."""

    calls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Interrupted:
    """Fail these calls: their worker died during the call, and it is unknown whether they took effect."""

    calls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WaitForApproval:
    """Suspend the run until these calls are approved or denied."""

    calls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Finish:
    """Step `number` is the answer."""

    number: int


@dataclass(frozen=True, slots=True)
class TooManySteps:
    """The model used up its tool calls without answering."""

    cap: int


NextStep = AskModel | CallTools | Interrupted | WaitForApproval | Finish | TooManySteps


def next_step(steps: Sequence[Step], *, cap: int) -> NextStep:
    """Decide the next action of a run. `cap` is the maximum number of replies with tool calls.

    After the last permitted one the model is asked without tools, so that it answers with what it has; a further call ends the run.
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
