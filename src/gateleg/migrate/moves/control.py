"""Changes of phase: record the new phase, fence off writers of the previous one, and wait until every process has adopted it.

The phases of moves as a process knows them, under a lease.

A process reads the phases every few seconds. Before it acts on them, it writes a lease: an item with the epochs that it knows, and the time
until which it may act on them. A process that changes a phase waits until every lease has the new epoch or has expired.
"""

from __future__ import annotations

import itertools
import socket
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from gateleg.migrate.errors import Paused, PhaseRefused
from gateleg.migrate.moves.declaration import Phase, are_adjacent
from gateleg.migrate.moves.tables import FENCES, ClientProcess, Fence, MoveState, migrations_table
from gateleg.model import spec_of
from gateleg.store import ConditionFailed
from gateleg.store.flow import Pause, Request
from gateleg.store.operations.reads import Find
from gateleg.store.operations.write_operation import Patch, Put
from gateleg.store.transports import ServiceError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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


#: when to read the phases again, in seconds
REFRESH = 2.0
#: how long a process may act on what it has read, in seconds
LEASE = 10.0
_MISSING = "ResourceNotFoundException"
#: how long the record of a dead process is kept, in seconds
_RETENTION_SECONDS = 86_400


@dataclass(frozen=True)
class StageView:
    """A stage of a move, as known to this process."""

    move: str
    stage: str
    phase: Phase = Phase.OFF
    epoch: int = 0


class PhaseViews:
    """The phases of some moves, read again when they are outdated. Shared by all stores and threads of a process."""

    def __init__(self, moves: Sequence[KeyMove], *, refresh: float = REFRESH, lease: float = LEASE, process: str | None = None) -> None:
        self.process = process or f"{socket.gethostname()}-{uuid4()}"
        #: also by name alone, as moves of earlier releases are stored
        self._moves = {key for move in moves for key in (move.state_key, move.name)}
        self._refresh = refresh
        self._lease = lease
        self._views: dict[tuple[str, str], StageView] = {}
        self._old_used: dict[str, float] = {}
        #: when the phases were requested, by the monotonic clock
        self._read_at: float | None = None
        #: the epochs that writes in progress act on, by the number of the write
        self._under_way: dict[int, dict[str, int]] = {}
        self._numbers = itertools.count()
        self._requests, self._failures, self._seconds = 0, 0, 0.0

    def of(self, move: KeyMove, stage: MoveStage) -> StageView:
        """A stage of a move."""
        for key in (move.state_key, move.name):
            if (key, stage.name) in self._views:
                return self._views[key, stage.name]
        return StageView(move.state_key, stage.name)

    def note_old(self, move: KeyMove, setup: Setup) -> None:
        """Record that the old entity of a move was used; others learn it with the next lease."""
        self._old_used |= dict.fromkeys((move.state_key, move.name), setup.clock())

    def current(self, setup: Setup, *, anew: bool = False) -> Flow[None]:
        """Read the phases again if they are outdated."""
        now = setup.ticks()
        if not anew and self._read_at is not None and now - self._read_at < self._refresh:
            return
        lapsed = self._read_at is None or now - self._read_at >= self._lease
        known = {} if lapsed else self._epochs()
        try:
            # Write the lease before reading the phases: a process that changes them later then waits for this one.
            yield from self._announce(known, setup)
            views = yield from read_views(setup)
        except ServiceError as error:
            if error.code != _MISSING:
                raise
            # Without the table, no move has begun.
            self._views, self._read_at = {}, now
            return
        self._adopt(views, now)
        acted_upon = self._epochs()
        if acted_upon != known:
            yield from self._announce(acted_upon, setup)

    def begin(self) -> int:
        """Register a write that acts on the current phases; others can see it until `end`."""
        number = next(self._numbers)
        self._under_way[number] = {f"{move}#{stage}": view.epoch for (move, stage), view in self._views.items()}
        return number

    def end(self, number: int) -> None:
        """Unregister a write."""
        self._under_way.pop(number, None)

    def note_request(self, seconds: float, *, failed: bool) -> None:
        """Count a read or write, for the monitoring of roll-outs."""
        self._requests, self._failures, self._seconds = self._requests + 1, self._failures + failed, self._seconds + seconds

    def _adopt(self, views: Mapping[tuple[str, str], StageView], read_at: float) -> None:
        """Apply what was read. Another thread may have read later and finished first: epochs never decrease."""
        found = dict(self._views)
        for place, view in views.items():
            if place[0] in self._moves and (place not in found or view.epoch >= found[place].epoch):
                found[place] = view
        self._views = found
        self._read_at = read_at if self._read_at is None else max(self._read_at, read_at)

    def _epochs(self) -> dict[str, int]:
        """The epochs that this process acts on: for each stage, the oldest that a write in progress has seen."""
        known = {f"{move}#{stage}": view.epoch for (move, stage), view in self._views.items()}
        for seen in list(self._under_way.values()):
            known = {place: min(epoch, seen.get(place, -1)) for place, epoch in known.items()}
        return known

    def _announce(self, epochs: dict[str, int], setup: Setup) -> Flow[None]:
        now = setup.clock()
        item = ClientProcess(
            process=self.process,
            host=socket.gethostname(),
            until=now + self._lease,
            moves=sorted(self._moves),
            epochs=epochs,
            old_used=dict(self._old_used),
            requests=self._requests,
            failures=self._failures,
            seconds=self._seconds,
            expires_at=datetime.fromtimestamp(now + _RETENTION_SECONDS, UTC),
        )
        yield from Put(item, returning="none").flow(setup)


def read_states(setup: Setup) -> Flow[list[MoveState]]:
    """All stages of all moves that have begun."""
    items = yield from _queried(MoveState.every(), setup)
    return [spec_of(MoveState).decode(item) for item in items]


def read_views(setup: Setup) -> Flow[dict[tuple[str, str], StageView]]:
    """All stages of all moves that have begun, by move and stage."""
    states = yield from read_states(setup)
    return {(one.move, one.stage): StageView(one.move, one.stage, one.phase, one.epoch) for one in states}


def read_processes(setup: Setup) -> Flow[list[ClientProcess]]:
    """The processes with a valid lease."""
    items = yield from _queried(ClientProcess.every(), setup)
    found = [spec_of(ClientProcess).decode(item) for item in items]
    return [one for one in found if one.until > setup.clock()]


def raise_fence(view: StageView, number: int, setup: Setup) -> Flow[None]:
    """Bring one copy of a fence to an epoch. Anybody may do this: fences only increase."""
    fence = Fence(move=view.move, stage=view.stage, number=number, epoch=view.epoch)
    try:
        yield from Put(fence, condition=Fence.epoch.missing() | (Fence.epoch < view.epoch), returning="none").flow(setup)
    except ConditionFailed:
        # It has this epoch or a later one.
        return


def _queried(query: Any, setup: Setup) -> Flow[list[dict[str, Any]]]:
    (payload,) = query.requests(table_name=setup.name_of(migrations_table), consistent=True)
    items: list[dict[str, Any]] = []
    while True:
        response = yield Request("Query", payload, f"{migrations_table.name} phases")
        items += response["Items"]
        if "LastEvaluatedKey" not in response:
            return items
        payload = payload | {"ExclusiveStartKey": response["LastEvaluatedKey"]}
