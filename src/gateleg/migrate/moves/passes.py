"""Passes over the tables of a move: segment by segment, page by page, with a checkpoint after every page.

Any process can continue a pass from its checkpoints: an interrupted page is processed again, which is harmless. The work on a page belongs
to one epoch of the stage; if the phase changes meanwhile, the fence refuses its writes, and the pass ends.

The work of passes on a page: copy, compare or delete its items.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gateleg.migrate.backfill import belongs
from gateleg.migrate.errors import Inconvertible, PhaseRefused
from gateleg.migrate.moves.control import check_not_paused, stored_key, view_of
from gateleg.migrate.moves.copies import EpochEnded, agree, copy_items, examine, note_error, reason_of
from gateleg.migrate.moves.declaration import PHASES, Phase
from gateleg.migrate.moves.directions import Direction
from gateleg.migrate.moves.dual_writes import ClientLatency, values_to_keep
from gateleg.migrate.moves.items import TransactionRefused, digest, fence_check, key_of, place_of, read_item, remove, write_together
from gateleg.migrate.moves.tables import Checkpoint, migrations_table
from gateleg.model import spec_of
from gateleg.model.tables import is_marker
from gateleg.store.flow import Pause, Request
from gateleg.store.operations.batches import batch_get_flow
from gateleg.store.operations.reads import Find
from gateleg.store.operations.write_operation import Delete, Put
from gateleg.store.setup import RateLimiter

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateleg.migrate.moves.control import StageView
    from gateleg.migrate.moves.declaration import KeyMove, MoveStage
    from gateleg.model import Item
    from gateleg.store.flow import Flow
    from gateleg.store.operations.write_operation import WriteOperation
    from gateleg.store.setup import Setup

__all__ = ["describe_progress"]


_MAX_PAUSE_SECONDS = 2.0


@dataclass(frozen=True)
class RateLimits:
    """Limits of a pass: capacity units per second, and the request duration above which it slows down."""

    read_units: float | None = None
    write_units: float | None = None
    #: while its own requests or those of clients take longer than this on average, the pass pauses between pages, longer each time
    latency: float | None = None
    page_size: int = 100


class Throttle:
    """Enforces the limits of a pass over all of its segments."""

    def __init__(self, limits: RateLimits, move: KeyMove, setup: Setup) -> None:
        self.limits = limits
        self.clients = ClientLatency(move, setup)
        self.reads = RateLimiter(limits.read_units, setup) if limits.read_units else None
        self.writes = RateLimiter(limits.write_units, setup) if limits.write_units else None


@dataclass
class PageResult:
    """The result of the work on one page."""

    seen: int = 0
    written: int = 0
    failed: int = 0
    #: write units used, estimated from the size of the items
    units: float = 0.0
    sums: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TablePass:
    """One pass over the source items of a direction, in one stage."""

    task: str
    direction: Direction
    stage: MoveStage
    #: the phases in which it may run
    phases: frozenset[Phase]
    work: Callable[[TablePass, list[Item], StageView, Setup], Flow[PageResult]]
    #: adds the checksums of a page to those of its segment
    add: Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]] = lambda one, other: {**one, **other}

    def checkpoints(self, setup: Setup) -> Flow[list[Checkpoint]]:
        """The segments of the pass that have begun."""
        key = yield from self._key(setup)
        query = Checkpoint.of_pass(move=key, stage=self.stage.name, task=self.task)
        (payload,) = query.requests(table_name=setup.name_of(migrations_table), consistent=True)
        found: list[Checkpoint] = []
        while True:
            response = yield Request("Query", payload, f"{self.task} checkpoints")
            found += [spec_of(Checkpoint).decode(item) for item in response["Items"]]
            if "LastEvaluatedKey" not in response:
                return found
            payload = payload | {"ExclusiveStartKey": response["LastEvaluatedKey"]}

    def begin(self, segments: int, setup: Setup, *, anew: bool = False) -> Flow[list[Checkpoint]]:
        """The segments, started if necessary; with `anew`, from the beginning."""
        found = yield from self.checkpoints(setup)
        if found and not anew:
            return found
        yield from self.forget(setup)
        key = yield from self._key(setup)
        created = [
            Checkpoint(
                move=key,
                stage=self.stage.name,
                task=self.task,
                segment=number,
                segments=segments,
                started_at=setup.now(),
            )
            for number in range(segments)
        ]
        for one in created:
            yield from Put(one).flow(setup)
        return created

    def forget(self, setup: Setup) -> Flow[None]:
        """Delete the checkpoints."""
        for one in (yield from self.checkpoints(setup)):
            yield from Delete(spec_of(Checkpoint).ref(one)).flow(setup)

    def run_segment(self, number: int, setup: Setup, throttle: Throttle, watch: Callable[[Checkpoint], None] | None = None) -> Flow[None]:
        """Run one segment to its end. Raises `Paused` between pages if the stage is paused."""
        runner = _Runner(self, setup, throttle)
        key = yield from self._key(setup)
        ref = Checkpoint.key(move=key, stage=self.stage.name, task=self.task, segment=number)
        checkpoint: Checkpoint = yield from Find(ref, consistent=True, required=True).flow(setup)
        while not checkpoint.done:
            checkpoint = yield from runner.page(checkpoint)
            if watch is not None:
                watch(checkpoint)

    def _key(self, setup: Setup) -> Flow[str]:
        return stored_key(self.direction.move, self.stage, setup)

    def holds(self, item: Item, setup: Setup) -> Flow[bool]:
        """Whether an item belongs to the pass: to its entity, move and stage."""
        spec, move = self.direction.source, self.direction.move
        if is_marker(spec.table, item) or not belongs(item, spec):
            return False
        if len(move.stages) == 1:
            return True
        if self.direction.source_side == "old":
            return move.stage_of(self.direction.partition(item, item)) is self.stage
        try:
            old = yield from self.direction.expected(item, setup)
        except Inconvertible:
            # Unreadable items are reported with the rest.
            return self.stage is move.stages[-1]
        return old is not None and move.stage_of(self.direction.partition(item, old)) is self.stage


class _Runner:
    """Runs the pages of one segment."""

    def __init__(self, one: TablePass, setup: Setup, throttle: Throttle) -> None:
        self._pass = one
        self._setup = setup
        self._throttle = throttle
        self._limits = throttle.limits
        self._rest = 0.0

    def page(self, checkpoint: Checkpoint) -> Flow[Checkpoint]:
        """Process one page; returns the checkpoint after it."""
        setup, began = self._setup, self._setup.ticks()
        view = yield from self._view()
        payload = self._payload(checkpoint)
        response = yield Request("Scan", payload, f"{self._pass.direction.source.name} {self._pass.task}")
        items: list[Item] = []
        for item in response["Items"]:
            mine = yield from self._pass.holds(item, setup)
            items += [item] if mine else []
        try:
            done = yield from self._pass.work(self._pass, items, view, setup)
        except EpochEnded:
            # The phase may have changed meanwhile: read it again, and repeat the page.
            return checkpoint
        last = response.get("LastEvaluatedKey")
        checkpoint = checkpoint.model_copy(
            update={
                "start": None if last is None else json.dumps(last),
                "done": last is None,
                "seen": checkpoint.seen + done.seen,
                "written": checkpoint.written + done.written,
                "failed": checkpoint.failed + done.failed,
                "sums": self._pass.add(checkpoint.sums, done.sums),
                "changed_at": setup.now(),
            }
        )
        yield from Put(checkpoint, returning="none").flow(setup)
        yield from self._make_way(response, done, setup.ticks() - began)
        return checkpoint

    def _view(self) -> Flow[StageView]:
        one = self._pass
        state = yield from check_not_paused(one.direction.move, one.stage, self._setup)
        if state.phase not in one.phases:
            allowed = ", ".join(sorted(one.phases, key=PHASES.index))
            raise PhaseRefused(f"{one.task} of {one.direction.move.name}, {one.stage.name}, runs in {allowed}, not in {state.phase}.")
        return view_of(state)

    def _payload(self, checkpoint: Checkpoint) -> dict[str, Any]:
        table = self._setup.name_of(self._pass.direction.source.table)
        payload: dict[str, Any] = {
            "TableName": table,
            "ConsistentRead": True,
            "Limit": self._limits.page_size,
            "ReturnConsumedCapacity": "TOTAL",
        }
        if checkpoint.segments > 1:
            payload |= {"Segment": checkpoint.segment, "TotalSegments": checkpoint.segments}
        if checkpoint.start is not None:
            payload["ExclusiveStartKey"] = json.loads(checkpoint.start)
        return payload

    def _make_way(self, response: dict[str, Any], done: PageResult, seconds: float) -> Flow[None]:
        """Wait as long as the limits require."""
        throttle = self._throttle
        if throttle.reads is not None:
            yield from throttle.reads.charge(response)
        if throttle.writes is not None and done.units:
            yield from throttle.writes.charge({"ConsumedCapacity": {"CapacityUnits": done.units}})
        if self._limits.latency is not None:
            # A page consists of its scan, and a read and a write for about every forty items.
            requests = 2 + 2 * math.ceil(done.seen / 40)
            clients = yield from throttle.clients.current()
            slow = max(seconds / requests, clients) > self._limits.latency
            self._rest = min(_MAX_PAUSE_SECONDS, max(self._rest, seconds, clients) * 2) if slow else self._rest / 2
            if self._rest > 0.001:
                yield Pause(self._rest)


def progress_of(checkpoints: list[Checkpoint], total: int | None = None) -> dict[str, Any]:
    """The progress of a pass: items seen, written and failed, items per second, and the seconds left if the total is known."""
    seen = sum(one.seen for one in checkpoints)
    started = min((one.started_at for one in checkpoints if one.started_at), default=None)
    changed = max((one.changed_at for one in checkpoints if one.changed_at), default=None)
    seconds = (changed - started).total_seconds() if started and changed else 0.0
    rate = seen / seconds if seconds > 0 else None
    left = max(0, total - seen) / rate if rate and total is not None else None
    done = bool(checkpoints) and all(one.done for one in checkpoints)
    return {
        "total": total,
        "segments": len(checkpoints),
        "segments_done": sum(one.done for one in checkpoints),
        "seen": seen,
        "written": sum(one.written for one in checkpoints),
        "failed": sum(one.failed for one in checkpoints),
        "items_per_second": None if rate is None else round(rate, 1),
        "seconds_left": 0.0 if done else None if left is None else round(left, 1),
        "done": done,
    }


def write_units(item: Item) -> float:
    """Write units for a copy: it is written and checked in a transaction, which counts twice."""
    size = len(json.dumps(item))
    return 4.0 * max(1, math.ceil(size / 1024))


def describe_progress(progress: dict[str, Any]) -> str:
    """The progress of a pass as text."""
    words = [f"{progress['seen']:,} items seen", f"{progress['written']:,} written"]
    words += [f"{progress['failed']:,} failed"] if progress["failed"] else []
    words += [f"{progress['items_per_second']:,} a second"] if progress["items_per_second"] else []
    if progress["done"]:
        words.append("done")
    elif progress["seconds_left"] is not None:
        words.append(f"about {progress['seconds_left']:,.0f} s left")
    return ", ".join(words)


_COPYING = frozenset({Phase.BACKFILL, Phase.VERIFY})
_COMPARING = frozenset({Phase.BACKFILL, Phase.VERIFY, Phase.DUAL_READ, Phase.CUT_OVER, Phase.CLOSING})
#: below DynamoDB's limit of 100 entries per transaction
_ENTRIES = 90


def backfill(move: KeyMove, stage: MoveStage) -> TablePass:
    """Copies all old items to the new side."""
    return TablePass("backfill", Direction(move, "old"), stage, _COPYING, _copy)


def restore(move: KeyMove, stage: MoveStage) -> TablePass:
    """Copies all new items to the old side, when rolling back from clean-up."""
    return TablePass("restore", Direction(move, "new"), stage, frozenset({Phase.CLOSING}), _copy)


def remove_old(move: KeyMove, stage: MoveStage) -> TablePass:
    """Deletes the old items, once only the new ones are written."""
    return TablePass("remove-old", Direction(move, "old"), stage, frozenset({Phase.CLEAN_UP}), _remove)


def remove_new(move: KeyMove, stage: MoveStage) -> TablePass:
    """Deletes the copies, when rolling back to the beginning."""
    return TablePass("remove-new", Direction(move, "new"), stage, frozenset({Phase.OFF}), _remove)


def compare_old(move: KeyMove, stage: MoveStage, sample: float = 1.0) -> TablePass:
    """Compares old items with their copies."""
    return TablePass("verify-old", Direction(move, "old"), stage, _COMPARING, _Comparison(sample), add_sums)


def compare_new(move: KeyMove, stage: MoveStage, sample: float = 1.0) -> TablePass:
    """Searches for new items without an old item."""
    return TablePass("verify-new", Direction(move, "new"), stage, _COMPARING, _Comparison(sample), add_sums)


def _copy(one: TablePass, items: list[Item], view: StageView, setup: Setup) -> Flow[PageResult]:
    done = PageResult(seen=len(items))
    for item, verdict in (yield from copy_items(one.direction, items, view, setup)):
        if isinstance(verdict, Inconvertible):
            done.failed += 1
            yield from note_error(one.direction, one.stage, item, reason_of(verdict), verdict.message, setup)
        elif verdict == "copied":
            done.written += 1
            done.units += write_units(item)
    return done


def _remove(one: TablePass, items: list[Item], view: StageView, setup: Setup) -> Flow[PageResult]:
    """Delete items with their markers and counters, unless the phase has changed: in transactions, or one by one if they change."""
    done, spec = PageResult(seen=len(items), written=len(items)), one.direction.source
    size = max(1, _ENTRIES // (2 + len(spec.uniques) + len(spec.counters)))
    for start in range(0, len(items), size):
        group = items[start : start + size]
        if (yield from _removed(one, group, view, setup)):
            continue
        for item in group:
            current: Item | None = item
            while current is not None and not (yield from _removed(one, [current], view, setup)):
                current = yield from read_item(spec, key_of(spec, current), setup)
    done.units = sum(map(write_units, items))
    return done


def _removed(one: TablePass, items: list[Item], view: StageView, setup: Setup) -> Flow[bool]:
    """Delete items in one transaction, and keep their own attributes; False if one of them has changed since it was read."""
    now, spec = setup.now(), one.direction.source
    operations: list[WriteOperation[Any]] = []
    for item in items:
        operations += [(yield from remove(spec, item, setup))]
        kept = values_to_keep(one.direction, one.stage, item)
        operations += [] if kept is None else [Put(kept, returning="none")]
    operations.append(fence_check(view, setup))
    seen = {place_of(spec, item, setup): item for item in items}
    try:
        yield from write_together(operations, [operation.write(now) for operation in operations], seen, now, setup)
    except TransactionRefused as refusal:
        if refusal.error.reasons[-1] is not None:
            raise EpochEnded from refusal
        if len(items) == 1 and not refusal.stale:
            raise refusal.error from refusal
        return False
    return True


class _Comparison:
    """Compares the items of a page, or a sample of them, with the other side."""

    def __init__(self, sample: float) -> None:
        self._sample = sample

    def __call__(self, one: TablePass, items: list[Item], view: StageView, setup: Setup) -> Flow[PageResult]:
        direction, done = one.direction, PageResult(seen=len(items))
        forward = direction if direction.source_side == "old" else direction.reverse
        pairs: list[tuple[Item, Item]] = []
        digests: list[int] = []
        for item in items:
            try:
                other = yield from direction.expected(item, setup)
            except Inconvertible as error:
                done.failed += 1
                yield from note_error(direction, one.stage, item, reason_of(error), error.message, setup)
                continue
            if other is None:
                continue
            new = other if direction.source_side == "old" else item
            digests.append(digest(new, forward.own))
            if self._sample >= 1 or setup.random.random() < self._sample:
                pairs.append((item, other))
        done.sums = {"count": len(digests), "sum": f"{sum(digests) % 2**128:032x}", "compared": len(pairs)}
        keys = [(direction.target.table, direction.key_of(other)) for _, other in pairs]
        found = yield from batch_get_flow(keys, setup, True, f"{direction.target.name} verify")
        for (item, other), stored in zip(pairs, found, strict=True):
            if not (yield from agree(direction, item, other, stored, setup)):
                problem = yield from examine(direction, item, setup)
                if problem is not None:
                    done.failed += 1
                    yield from note_error(direction, one.stage, item, problem[0], problem[1], setup)
        return done


def add_sums(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Add two checksums of a verification; the order does not matter."""
    total = (int(one.get("sum", "0"), 16) + int(other.get("sum", "0"), 16)) % 2**128
    return {
        "count": int(one.get("count", 0)) + int(other.get("count", 0)),
        "compared": int(one.get("compared", 0)) + int(other.get("compared", 0)),
        "sum": f"{total:032x}",
    }
