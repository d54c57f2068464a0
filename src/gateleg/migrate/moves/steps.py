"""The steps of a move: the work on entering and leaving each phase, and the conditions for it.

Everything here is a flow, so that the command line, a job and a test run the same steps. An interrupted step is run
again, and continues where it stopped.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gateleg.migrate.errors import Inconvertible, PhaseRefused, RolloutHalted
from gateleg.migrate.moves import passes as tasks
from gateleg.migrate.moves.control import LEASE, check_not_paused, enter_phase, read_processes, read_state, set_verified, view_of
from gateleg.migrate.moves.copies import forget_errors, read_errors, remove_stale_copies, repeat_errors
from gateleg.migrate.moves.declaration import Phase, phases_between
from gateleg.migrate.moves.directions import Direction
from gateleg.migrate.moves.dual_writes import POLL_SECONDS, forget_kept, read_client_metrics, since
from gateleg.migrate.moves.passes import RateLimits, TablePass, Throttle, progress_of
from gateleg.migrate.moves.tables import migrations_table
from gateleg.model import spec_of
from gateleg.store.flow import Pause, Request, run_concurrently
from gateleg.store.operations.tables import describe, ensure_tables

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateleg.migrate.moves.declaration import KeyMove, MoveStage
    from gateleg.migrate.moves.tables import Checkpoint, MoveState
    from gateleg.model import Item
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup

#: how long an old entity must be unused before its clients are refused
QUIET_SECONDS = 60.0
#: fewer client requests than this are not conclusive
_MIN_SOAK_REQUESTS = 20


@dataclass(frozen=True)
class MoveOptions:
    """How to carry out a move: operator, speed, and callbacks."""

    by: str = ""
    segments: int = 4
    limits: RateLimits = field(default_factory=RateLimits)
    #: the share of items that a verification compares one by one; checksums cover all
    sample: float = 1.0
    #: called after every page with the checkpoints of a pass
    watch: Callable[[str, list[Checkpoint]], None] | None = None
    #: called while processes have not adopted a new phase
    waiting: Callable[[str], None] | None = None
    #: how long clients are monitored in each new phase, in seconds
    soak: float = 0.0
    #: limits for clients meanwhile: the share of failed requests, and the average duration in seconds
    most_failures: float = 0.01
    most_seconds: float | None = None
    #: close the old entity even if it was used recently
    force: bool = False


@dataclass(frozen=True)
class Verification:
    """The result of comparing both sides."""

    #: matching old and new items
    old: int
    new: int
    #: whether the checksums over all items of both sides are equal
    same_sum: bool
    compared: int
    #: items that differ, or that lack a copy or an original
    wrong: int

    @property
    def holds(self) -> bool:
        """Whether both sides agree."""
        return self.wrong == 0 and (self.compared >= self.old + self.new or (self.same_sum and self.old == self.new))


def prepare(setup: Setup) -> Flow[None]:
    """Create the table of migrations. Processes that found no table hold no lease, so wait for a lease's duration until they look again."""
    if (yield from describe(setup.name_of(migrations_table))) is None:
        yield from ensure_tables(migrations_table).flow(setup)
        yield Pause(LEASE)


def advance(move: KeyMove, stage: MoveStage, until: Phase, setup: Setup, options: MoveOptions | None = None) -> Flow[MoveState]:
    """Go forward to a phase, through all phases before it, with their work. Raises `PhaseRefused` if a phase cannot be entered."""
    options = options or MoveOptions()
    yield from prepare(setup)
    yield from ensure_tables(spec_of(move.new).table).flow(setup)
    state = yield from _settled(move, stage, setup, options)
    if state.phase is Phase.OFF and (yield from tasks.backfill(move, stage).checkpoints(setup)):
        # An interrupted rollback: its copies are stale by now.
        yield from _undo_copies(move, stage, setup, options)
    # Finish what an interruption may have left of the current phase.
    yield from _work(move, stage, state.phase, setup, options)
    for phase in phases_between(state.phase, until) if until.order > state.phase.order else ():
        yield from check_not_paused(move, stage, setup)
        yield from _check(move, stage, phase, setup, options)
        if phase is Phase.CLOSING:
            # Left by an earlier rollback.
            yield from tasks.restore(move, stage).forget(setup)
        yield from enter_phase(move, stage, phase, setup, by=options.by, waiting=options.waiting)
        yield from _work(move, stage, phase, setup, options)
        yield from _watch_clients(move, stage, phase, setup, options)
    return (yield from read_state(move, stage, setup))


def go_back(move: KeyMove, stage: MoveStage, until: Phase, setup: Setup, options: MoveOptions | None = None) -> Flow[MoveState]:
    """Go back to an earlier phase, through all phases between: restore what was deleted, and delete what was copied."""
    options = options or MoveOptions()
    state = yield from _settled(move, stage, setup, options)
    if state.phase is Phase.CLOSING and (yield from tasks.restore(move, stage).checkpoints(setup)):
        # It was interrupted, or could not restore all items.
        yield from _restore(move, stage, setup, options)
    for phase in phases_between(state.phase, until) if until.order < state.phase.order else ():
        yield from check_not_paused(move, stage, setup)
        if phase is Phase.CLOSING:
            # Before the phase changes, so that the checkpoints show after an interruption that old items are missing.
            yield from tasks.remove_old(move, stage).forget(setup)
            yield from tasks.restore(move, stage).begin(options.segments, setup, anew=True)
        yield from enter_phase(move, stage, phase, setup, by=options.by, waiting=options.waiting)
        if phase is Phase.CLOSING:
            yield from _restore(move, stage, setup, options)
    state = yield from read_state(move, stage, setup)
    if state.phase is Phase.OFF and state.version:
        yield from _undo_copies(move, stage, setup, options)
    return state


def _settled(move: KeyMove, stage: MoveStage, setup: Setup, options: MoveOptions) -> Flow[MoveState]:
    """The state of a stage, once no process acts on the previous phase: the process that changed it may have died while waiting."""
    state: MoveState = yield from read_state(move, stage, setup)
    if state.epoch:
        state = yield from enter_phase(move, stage, state.phase, setup, by=options.by, waiting=options.waiting)
    return state


def _undo_copies(move: KeyMove, stage: MoveStage, setup: Setup, options: MoveOptions) -> Flow[None]:
    """Delete the copies of a stage that is off, and its checkpoints; those of the backfill last: they show that there were copies."""
    yield from run_pass(tasks.remove_new(move, stage), setup, options, anew=True)
    yield from forget_errors(move, stage, setup)
    for one in (tasks.compare_old, tasks.compare_new, tasks.remove_old, tasks.backfill):
        yield from one(move, stage).forget(setup)


def _restore(move: KeyMove, stage: MoveStage, setup: Setup, options: MoveOptions) -> Flow[None]:
    """Restore the old items from the new ones before anybody reads them again; only new items were written meanwhile."""
    yield from ensure_tables(spec_of(move.old).table).flow(setup)
    one = tasks.restore(move, stage)
    unfinished = [checkpoint for checkpoint in (yield from one.checkpoints(setup)) if not checkpoint.done]
    yield from forget_errors(move, stage, setup)
    progress = yield from run_pass(one, setup, options, anew=not unfinished)
    if progress["failed"]:
        errors = yield from read_errors(move, stage, setup, limit=5)
        why = "; ".join(f"{error.item_key}: {error.why.rstrip('.')}" for error in errors)
        raise PhaseRefused(f"{move.name}, {stage.name}, cannot be opened again: {why}.", fix="Correct them, and roll back again.")
    yield from forget_kept(move, stage, "old", setup)


def verify(move: KeyMove, stage: MoveStage, setup: Setup, options: MoveOptions | None = None, *, fix: bool = False) -> Flow[Verification]:
    """Compare both sides from the beginning and record the result. Items that differ are listed with their reasons.

    With `fix`, copies under a key that their old item does not lead to any more are removed, and both sides are compared again.
    """
    options = options or MoveOptions()
    found = yield from _compared(move, stage, setup, options)
    if fix and not found.holds:
        state = yield from read_state(move, stage, setup)
        if (yield from remove_stale_copies(move, stage, view_of(state), setup)):
            found = yield from _compared(move, stage, setup, options)
    yield from set_verified(move, stage, found.holds, setup)
    return found


def _compared(move: KeyMove, stage: MoveStage, setup: Setup, options: MoveOptions) -> Flow[Verification]:
    yield from forget_errors(move, stage, setup)
    for one in (tasks.compare_old, tasks.compare_new):
        yield from run_pass(one(move, stage, options.sample), setup, options, anew=True)
    return (yield from verification(move, stage, setup))


def verification(move: KeyMove, stage: MoveStage, setup: Setup) -> Flow[Verification]:
    """The result of the last comparison."""
    sums: list[dict[str, Any]] = []
    wrong = 0
    for one in (tasks.compare_old(move, stage), tasks.compare_new(move, stage)):
        total: dict[str, Any] = {}
        for checkpoint in (yield from one.checkpoints(setup)):
            total = tasks.add_sums(total, checkpoint.sums)
            wrong += checkpoint.failed
        sums.append(tasks.add_sums(total, {}))
    old, new = sums
    return Verification(old["count"], new["count"], old["sum"] == new["sum"], old["compared"] + new["compared"], wrong)


def run_pass(one: TablePass, setup: Setup, options: MoveOptions, *, anew: bool = False) -> Flow[dict[str, Any]]:
    """Run all segments of a pass concurrently."""
    checkpoints = yield from one.begin(options.segments, setup, anew=anew)
    known = {checkpoint.segment: checkpoint for checkpoint in checkpoints}

    def watch(checkpoint: Checkpoint) -> None:
        known[checkpoint.segment] = checkpoint
        if options.watch is not None:
            options.watch(one.task, list(known.values()))

    throttle = Throttle(options.limits, one.direction.move, setup)
    yield from run_concurrently(
        [one.run_segment(number, setup, throttle, watch) for number, checkpoint in known.items() if not checkpoint.done],
        setup.ticks,
        fail_fast=True,
    )
    return progress_of((yield from one.checkpoints(setup)))


def sample(move: KeyMove, stage: MoveStage, setup: Setup, number: int = 5) -> Flow[list[dict[str, Any]]]:
    """A dry run: some old items and their converted forms. Nothing is written."""
    found: list[dict[str, Any]] = []

    def take(entry: dict[str, Any]) -> bool:
        found.append(entry)
        return len(found) < number

    if number:
        yield from _scan(move, stage, setup, take)
    return found


def faults(move: KeyMove, stage: MoveStage, setup: Setup) -> Flow[list[dict[str, Any]]]:
    """A dry run over all old items: those that cannot be converted, with the reasons. Nothing is written."""
    found: list[dict[str, Any]] = []

    def take(entry: dict[str, Any]) -> bool:
        if "error" in entry:
            found.append(entry)
        return True

    yield from _scan(move, stage, setup, take)
    return found


def _scan(move: KeyMove, stage: MoveStage, setup: Setup, take: Callable[[dict[str, Any]], bool]) -> Flow[None]:
    """Pass the old items of a stage to `take` with their converted forms, until it returns False."""
    direction, one = Direction(move, "old"), tasks.backfill(move, stage)
    payload: dict[str, Any] = {"TableName": setup.name_of(direction.source.table), "ConsistentRead": True}
    while True:
        response = yield Request("Scan", payload, "dry run")
        for item in response["Items"]:
            if (yield from one.holds(item, setup)) and not take((yield from _shown(direction, item, setup))):
                return
        if "LastEvaluatedKey" not in response:
            return
        payload["ExclusiveStartKey"] = response["LastEvaluatedKey"]


def _shown(direction: Direction, item: Item, setup: Setup) -> Flow[dict[str, Any]]:
    try:
        after = yield from direction.expected(item, setup)
        if after is not None:
            yield from direction.check_loss(item, after, setup)
    except Inconvertible as error:
        return {"before": item, "error": error.message}
    return {"before": item, "after": after}


def _work(move: KeyMove, stage: MoveStage, phase: Phase, setup: Setup, options: MoveOptions) -> Flow[None]:
    """The work that belongs to a phase."""
    if phase is Phase.BACKFILL:
        yield from run_pass(tasks.backfill(move, stage), setup, options)
        state = yield from read_state(move, stage, setup)
        if not (yield from repeat_errors(move, stage, view_of(state), setup)):
            yield from forget_kept(move, stage, "new", setup)
    elif phase is Phase.VERIFY:
        yield from verify(move, stage, setup, options, fix=True)
    elif phase is Phase.CLEAN_UP:
        yield from run_pass(tasks.remove_old(move, stage), setup, options)


def _check(move: KeyMove, stage: MoveStage, phase: Phase, setup: Setup, options: MoveOptions) -> Flow[None]:
    """Refuse a phase whose conditions are not met."""
    place = f"{move.name}, {stage.name},"
    if phase is Phase.VERIFY:
        done = progress_of((yield from tasks.backfill(move, stage).checkpoints(setup)))["done"]
        errors = yield from read_errors(move, stage, setup, limit=5)
        if not done or errors:
            why = "; ".join(f"{error.item_key}: {error.why.rstrip('.')}" for error in errors) or "not all items were copied"
            raise PhaseRefused(f"{place} cannot be verified: {why}.", fix="Correct them, and apply again: they are tried again.")
    elif phase is Phase.DUAL_READ:
        state = yield from read_state(move, stage, setup)
        if not state.verified:
            errors = yield from read_errors(move, stage, setup, limit=5)
            why = "; ".join(f"{error.item_key}: {error.why.rstrip('.')}" for error in errors) or "it was not verified"
            raise PhaseRefused(f"{place} cannot be read from the new side: {why}.", fix="Correct it, and verify again.")
    elif phase in (Phase.CUT_OVER, Phase.CLOSING):
        if phase is Phase.CLOSING and move.lookup is not None:
            # Parents may have changed: once the old items are deleted, nothing tells which of two copies is right.
            yield from verify(move, stage, setup, options, fix=True)
        # Differences found by reads are recorded with the last stage.
        errors = yield from read_errors(move, stage, setup, limit=5)
        if stage is not move.stages[-1]:
            errors += yield from read_errors(move, move.stages[-1], setup, limit=5)
        if errors:
            why = "; ".join(f"{error.item_key}: {error.why.rstrip('.')}" for error in errors[:5])
            raise PhaseRefused(f"{place} cannot continue: items differ. {why}.", fix="Correct them, and verify again.")
        if phase is Phase.CLOSING:
            yield from _check_closing(move, setup, options)


def _check_closing(move: KeyMove, setup: Setup, options: MoveOptions) -> Flow[None]:
    for stage in move.stages:
        state = yield from read_state(move, stage, setup)
        if state.phase.order < Phase.CUT_OVER.order:
            raise PhaseRefused(f"{move.name}, {stage.name}, is in the phase {state.phase}: all stages are cut over before one is closed.")
    if options.force:
        return
    now = setup.clock()
    for process in (yield from read_processes(setup)):
        used = process.old_used.get(state.move)
        if used is not None and now - used < QUIET_SECONDS:
            raise PhaseRefused(
                f"{process.process} used {move.old.__name__} {now - used:.0f} seconds ago.",
                fix="Deploy what uses the new entity everywhere, wait a minute, and apply again; --force closes it anyway.",
            )


def _watch_clients(move: KeyMove, stage: MoveStage, phase: Phase, setup: Setup, options: MoveOptions) -> Flow[None]:
    """Monitor clients in a new phase. Raises `RolloutHalted` if too many of their requests fail or are too slow."""
    if not options.soak:
        return
    before = yield from read_client_metrics(move, setup)
    until = setup.ticks() + options.soak
    while setup.ticks() < until:
        yield Pause(min(POLL_SECONDS, options.soak))
        yield from check_not_paused(move, stage, setup)
        found = since(before, (yield from read_client_metrics(move, setup)))
        if found.requests < _MIN_SOAK_REQUESTS:
            continue
        place = f"{move.name}, {stage.name}, was halted in the phase {phase}"
        if found.failures / found.requests > options.most_failures:
            raise RolloutHalted(f"{place}: {found.failures:,} of {found.requests:,} requests of clients failed.")
        if options.most_seconds is not None and found.average > options.most_seconds:
            raise RolloutHalted(f"{place}: requests of clients take {found.average:.3f} seconds on average.")


def state_of(move: KeyMove, stage: MoveStage, setup: Setup) -> Flow[Phase]:
    """The phase of a stage; off if nothing has begun."""
    if (yield from describe(setup.name_of(migrations_table))) is None:
        return Phase.OFF
    phase: Phase = (yield from read_state(move, stage, setup)).phase
    return phase


def stage_status(move: KeyMove, stage: MoveStage, setup: Setup) -> Flow[dict[str, Any]]:
    """The progress of a stage as plain values: phase, passes and errors."""
    state = yield from read_state(move, stage, setup)
    passes: dict[str, Any] = {}
    for one in (tasks.backfill, tasks.compare_old, tasks.compare_new, tasks.restore, tasks.remove_old, tasks.remove_new):
        made = one(move, stage)
        checkpoints = yield from made.checkpoints(setup)
        if checkpoints:
            passes[made.task] = progress_of(checkpoints, (yield from items_in(move, made.task, setup)))
    errors = yield from read_errors(move, stage, setup, limit=20)
    processes = yield from read_processes(setup)
    used = [process.old_used[state.move] for process in processes if state.move in process.old_used]
    return {
        "move": move.name,
        "stage": stage.name,
        "phase": str(state.phase),
        "paused": state.paused,
        "verified": state.verified,
        "changed_at": state.changed_at,
        "changed_by": state.changed_by,
        "passes": passes,
        "errors": [{"side": one.side, "key": one.item_key, "reason": one.reason, "why": one.why} for one in errors],
        "processes": sum(state.move in process.moves for process in processes),
        "old_used_seconds_ago": round(setup.clock() - max(used), 1) if used else None,
    }


def items_in(move: KeyMove, task: str, setup: Setup) -> Flow[int | None]:
    """The approximate number of items in a pass; None if unknown, because the table holds other items or is moved in stages."""
    spec = spec_of(move.new if task in ("verify-new", "restore", "remove-new") else move.old)
    if len(move.stages) > 1 or len(spec.table.specs) > 1 or spec.uniques:
        return None
    description = yield from describe(setup.name_of(spec.table))
    return None if description is None else int(description.get("ItemCount", 0)) or None
