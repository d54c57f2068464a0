"""The tool loop: what a run does next, by what is stored."""

import pytest

from gateleg.apps.agents.running.loop import (
    AskModel,
    CallTools,
    Finish,
    Interrupted,
    NextStep,
    Step,
    StoredCall,
    TooManySteps,
    WaitForApproval,
    next_step,
)
from gateleg.apps.agents.thread_tables import ToolCallStatus


def step(*states: str, number: int = 1) -> Step:
    return Step(number, tuple(StoredCall(f"c{place}", ToolCallStatus(state)) for place, state in enumerate(states)))


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([], AskModel(1)),
        ([step()], Finish(1)),
        ([step("initial", "initial")], CallTools(("c0", "c1"))),
        ([step("completed", "initial")], CallTools(("c1",))),
        ([step("completed", "failed")], AskModel(2)),
        ([step("requires_approval", "initial")], CallTools(("c1",))),
        ([step("requires_approval", "completed")], WaitForApproval(("c0",))),
        ([step("approved", "denied")], CallTools(("c0",))),
        ([step("denied")], AskModel(2)),
        ([step("in_progress", "completed")], Interrupted(("c0",))),
        ([step("completed"), step("completed", number=2)], AskModel(3, tools=False)),
        ([step("completed"), step("completed", number=2), step(number=3)], Finish(3)),
        ([step("completed"), step("completed", number=2), step("initial", number=3)], TooManySteps(2)),
    ],
)
def test_what_is_stored_decides(steps: list[Step], expected: NextStep) -> None:
    assert next_step(steps, cap=2) == expected


def test_a_call_that_does_no_harm_is_made_again_after_a_crash() -> None:
    broken = Step(1, (StoredCall("c0", ToolCallStatus.IN_PROGRESS, repeatable=True),))
    assert next_step([broken], cap=2) == CallTools(("c0",))


def test_an_agent_without_steps_for_tools_answers_at_once() -> None:
    assert next_step([], cap=0) == AskModel(1, tools=False)
