"""Changes of phase: record the new phase, fence off writers of the previous one, and wait until every process has adopted it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.migrate.errors import Paused, PhaseRefused
from gateleg.migrate.moves.phase_views import StageView, raise_fence, read_processes
from gateleg.migrate.moves.phases import Phase, are_adjacent
from gateleg.migrate.moves.tables import FENCES, MoveState
from gateleg.store.flow import Pause
from gateleg.store.operations.reads import Find
from gateleg.store.operations.write_operation import Patch, Put

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateleg.migrate.moves.declaration import KeyMove, MoveStage
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup

__all__ = ["stored_key"]

#: interval for reading the leases of processes
_POLL_SECONDS = 0.1


def read_state(move: KeyMove, stage: MoveStage, setup: Setup) -> Flow[MoveState]:
    """The state of a stage; off if it has not begun. Moves of earlier releases continue under their name alone."""
    for key in (move.state_key, move.name):
        found: MoveState | None = yield from Find(MoveState.key(move=key, stage=stage.name), consistent=True).flow(setup)
        if found is not None:
            return found
    return MoveState(move=move.state_key, stage=stage.name)


def stored_key(move: KeyMove, stage: MoveStage, setup: Setup) -> Flow[str]:
    """The key under which the checkpoints and failed items of a stage are stored, like its state."""
    state: MoveState = yield from read_state(move, stage, setup)
    return state.move


def view_of(state: MoveState) -> StageView:
    """A state in the form that clients use."""
    return StageView(state.move, state.stage, state.phase, state.epoch)


def enter_phase(
    move: KeyMove, stage: MoveStage, phase: Phase, setup: Setup, *, by: str = "", waiting: Callable[[str], None] | None = None
) -> Flow[MoveState]:
    """Bring a stage to the next or the previous phase. Ends when no process acts on another phase any more.

    Interrupted, it is called again with the same phase. Raises `PhaseRefused` when the phase is not next to the present one.
    """
    state = yield from read_state(move, stage, setup)
    if state.phase is not phase:
        if not are_adjacent(state.phase, phase):
            raise PhaseRefused(f"{move.name}, {stage.name}, is in the phase {state.phase}, which {phase} does not follow.")
        changes = {"phase": phase, "epoch": state.epoch + 1, "changed_at": setup.now(), "changed_by": by}
        if phase.order <= Phase.BACKFILL.order:
            changes["verified"] = None
        state = yield from _saved(state.model_copy(update=changes), setup)
    yield from _fence_off(state, setup)
    yield from _wait_for_processes(state, setup, waiting)
    return state


def set_paused(move: KeyMove, stage: MoveStage, paused: bool, setup: Setup, *, by: str = "") -> Flow[MoveState]:
    """Pause a stage at the next page, or resume it."""
    state = yield from read_state(move, stage, setup)
    if state.version == 0:
        return (yield from _saved(state.model_copy(update={"paused": paused, "changed_by": by}), setup))
    result: MoveState = yield from Patch(state, (MoveState.paused.set(paused), MoveState.changed_by.set(by))).flow(setup)
    return result


def check_not_paused(move: KeyMove, stage: MoveStage, setup: Setup) -> Flow[MoveState]:
    """The state of a stage. Raises `Paused` if it is paused."""
    state: MoveState = yield from read_state(move, stage, setup)
    if state.paused:
        raise Paused(f"{move.name}, {stage.name}, is paused.")
    return state


def set_verified(move: KeyMove, stage: MoveStage, verified: bool, setup: Setup) -> Flow[MoveState]:
    """Record the result of a verification."""
    state = yield from read_state(move, stage, setup)
    result: MoveState = yield from Patch(state, (MoveState.verified.set(verified),)).flow(setup)
    return result


def _saved(state: MoveState, setup: Setup) -> Flow[MoveState]:
    result: MoveState = yield from Put(state).flow(setup)
    return result


def _fence_off(state: MoveState, setup: Setup) -> Flow[None]:
    for number in range(FENCES):
        yield from raise_fence(view_of(state), number, setup)


def _wait_for_processes(state: MoveState, setup: Setup, waiting: Callable[[str], None] | None) -> Flow[None]:
    """Wait until every process that knows the move has adopted the epoch, or its lease has expired."""
    place = f"{state.move}#{state.stage}"
    while True:
        processes = yield from read_processes(setup)
        behind = [one for one in processes if state.move in one.moves and one.epochs.get(place, -1) < state.epoch]
        if not behind:
            return
        if waiting is not None:
            waiting(f"{len(behind)} processes have not noticed the phase {state.phase} yet, such as {behind[0].process}")
        yield Pause(_POLL_SECONDS)
