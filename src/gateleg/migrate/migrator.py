"""`Migrator`: plan, apply, verify and undo the numbered migrations of an application, one host at a time."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gateleg.errors import GatelegError
from gateleg.migrate import backups, ledger
from gateleg.migrate.backfill import Fault, backfill
from gateleg.migrate.consistency import check_consistency
from gateleg.migrate.errors import MigrationRefused, NoBackup, Paused, UnknownMigration
from gateleg.migrate.execution import apply as apply_table
from gateleg.migrate.execution import counted_tables, plan_of, refuse_problems, table_problems
from gateleg.migrate.ledger import MigrationStatus, error_summary, read_statuses
from gateleg.migrate.migrations import Migration, check_paused, check_stage, in_order, pause, resume, stages_of
from gateleg.migrate.moves import steps
from gateleg.migrate.moves.control import read_state, stored_key
from gateleg.migrate.moves.declaration import Phase, phases_between
from gateleg.migrate.moves.passes import progress_of
from gateleg.migrate.moves.rewrites import repeat_failed
from gateleg.migrate.moves.steps import MoveOptions
from gateleg.migrate.moves.tables import ItemError, LedgerEntry
from gateleg.migrate.shapes import TableSettings
from gateleg.model import spec_of
from gateleg.store.locks import locks, renew
from gateleg.store.operations.tables import check_keys

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    from gateleg.migrate.backfill import Report as BackfillReport
    from gateleg.migrate.migrations import Step
    from gateleg.migrate.moves.declaration import KeyMove, MoveStage
    from gateleg.migrate.moves.tables import Checkpoint, MigrationRecord
    from gateleg.model import Table
    from gateleg.store import Store
    from gateleg.store.locks import Lock

#: when the lock expires without renewal
_LOCK_SECONDS = 60.0


@dataclass(frozen=True)
class MigrationCallbacks:
    """Callbacks for the progress of a migration."""

    #: called when a step begins
    step: Callable[[str], None] = lambda text: None
    #: called with the name and progress of a pass (`gateleg.migrate.moves.passes.progress_of`)
    progress: Callable[[str, dict[str, Any]], None] = lambda task, progress: None


class Migrator:
    """The migrations of one application on one store."""

    def __init__(
        self,
        store: Store,
        application: str,
        migrations: Sequence[Migration],
        *,
        by: str,
        options: MoveOptions | None = None,
        report: MigrationCallbacks | None = None,
    ) -> None:
        self._store = store.moving(None)
        self.application = application
        self.migrations = in_order(migrations)
        self._by = by
        self._report = report or MigrationCallbacks()
        self._options = replace(options or MoveOptions(), by=by)
        self._lock: Lock | None = None

    def status(self) -> list[MigrationStatus]:
        """The state of every migration, including those that only the data has."""
        return self._store.drive(read_statuses(self.application, self.migrations, self._store.setup))

    def plan(self, *, until: Phase = Phase.CUT_OVER) -> list[tuple[Migration, list[str]]]:
        """The steps that `apply` would take, as text. Changes nothing."""
        records = self._store.drive(ledger.check_code(self.application, self.migrations, self._store.setup))
        planned = []
        for one in self.migrations:
            todo = self._pending_steps(one, until, applied=_is_applied(records, one))
            if todo:
                planned.append((one, todo))
        return planned

    def problems(self, *, until: Phase = Phase.CUT_OVER) -> dict[Migration, list[str]]:
        """What keeps `apply` from beginning: tables that do not exist or have another key than declared. Changes nothing."""
        records = self._store.drive(ledger.check_code(self.application, self.migrations, self._store.setup))
        return self._table_problems(records, self.migrations, until, None)

    def samples(self, number: int, items: int = 5) -> list[dict[str, Any]]:
        """Some old items of a migration's moves, before and after conversion, with the names of their tables. Changes nothing."""
        return self._dry_run(number, lambda move, stage: steps.sample(move, stage, self._store.setup, items))

    def faults(self, number: int) -> list[dict[str, Any]]:
        """All old items of a migration's moves that cannot be converted, with the reasons. Reads the whole old tables; changes nothing."""
        return self._dry_run(number, lambda move, stage: steps.faults(move, stage, self._store.setup))

    def _dry_run(self, number: int, shown: Callable[[KeyMove, MoveStage], Any]) -> list[dict[str, Any]]:
        """The items that a dry run of each stage shows, with the names of their tables. A table that does not exist has no items."""
        found: list[dict[str, Any]] = []
        for move, stage in stages_of(self._numbered(number), None):
            before, after = (self._store.setup.name_of(spec_of(entity).table) for entity in (move.old, move.new))
            place = {"move": move.name, "from_table": before, "to_table": after}
            if self._drive(check_keys([spec_of(move.old).table], self._store.setup)):
                found += [place | one for one in self._drive(shown(move, stage))]
        return found

    def apply(self, *, number: int | None = None, until: Phase = Phase.CUT_OVER, stage: str | None = None) -> list[Migration]:
        """Apply pending migrations in order, up to a number; moves go to the phase `until`. Continues what was interrupted.

        Raises `UnknownMigration` if no migration has the number.
        """
        done = []
        if number is not None:
            self._numbered(number)
        chosen = [one for one in self.migrations if number is None or one.number <= number]
        check_stage(chosen, stage)
        before = self._drive(ledger.check_code(self.application, self.migrations, self._store.setup))
        refuse_problems(self._table_problems(before, chosen, until, stage))
        with self._locked():
            records = self._store.drive(ledger.check_code(self.application, self.migrations, self._store.setup))
            for one in chosen:
                applied = _is_applied(records, one)
                if applied and not self._open_stages(one, until, stage):
                    continue
                self._apply(one, until, stage, again=applied)
                done.append(one)
        return done

    def verify(self, number: int, *, stage: str | None = None, fix: bool = False) -> dict[str, steps.Verification]:
        """Compare both sides of a migration's moves from the beginning, or those of one stage; by `move/stage`.

        With `fix`, stale copies are removed.
        """
        one, found = self._numbered(number), {}
        check_stage([one], stage)
        with self._locked():
            self._drive(ledger.check_code(self.application, self.migrations, self._store.setup))
            for move, which in stages_of(one, stage):
                self._report.step(f"comparing {move.name}, {which.name}")
                found[f"{move.name}/{which.name}"] = self._drive(
                    steps.verify(move, which, self._store.setup, self._options_for(move), fix=fix)
                )
            wrong = sum(result.wrong for result in found.values())
            self._drive(ledger.log(self.application, one, "verify", self._by, self._store.setup, result=f"{wrong} items are wrong"))
        return found

    def rollback(self, number: int, *, until: Phase = Phase.OFF, stage: str | None = None) -> None:
        """Undo a migration, or bring its moves back to an earlier phase. Later migrations must be undone first."""
        one = self._numbered(number)
        check_stage([one], stage)
        with self._locked():
            records = self._store.drive(ledger.check_code(self.application, self.migrations, self._store.setup))
            later = [other for other in self.migrations if other.number > number and other.number in records]
            standing = [other for other in later if records[other.number].state != "rolled-back"]
            if standing:
                raise MigrationRefused(f"{standing[-1]} was applied after {one}.", fix="Roll back the last one first.")
            if number not in records or records[number].state == "rolled-back":
                raise MigrationRefused(f"{one} was not applied.")
            self._record(one, "rolling-back", "rollback", working=True, until=str(until))
            # Parents are restored before their children, which need them; copies of children are deleted before those of their parents.
            for move, which in stages_of(one, stage):
                self._go_back(move, which, until if until.order > Phase.CUT_OVER.order else Phase.CUT_OVER)
            for move, which in reversed(stages_of(one, stage)):
                self._go_back(move, which, until)
            if until is Phase.OFF and stage is None:
                if one.undo is not None:
                    one.undo(self._store)
                self._record(one, "rolled-back", "rollback")
            else:
                self._record(one, "applying", "rollback", until=str(until))

    def restore(self, number: int, *, at: datetime | None = None) -> dict[str, dict[str, int]]:
        """Restore the tables that a migration changes to their state before it, from its backups, or to a point in time.

        Nobody may write meanwhile. Moves are brought back to their beginning first. Raises `NoBackup`, before anything is changed, when
        there is nothing to restore from.
        """
        one = self._numbered(number)
        arns = {} if at is not None else self._backups(one)
        for table in _changed_tables(one):
            if at is not None:
                self._drive(backups.check_recoverable(table, at, self._store.setup))
            elif table.name not in arns:
                raise NoBackup(f"There is no backup of {table.name} from before {one}.")
        found: dict[str, dict[str, int]] = {}
        self.rollback(number)
        with self._locked():
            for table in _changed_tables(one):
                self._report.step(f"restoring {table.name}")
                found[table.name] = self._drive(backups.restore(table, self._store.setup, backup=arns.get(table.name), at=at))
            self._drive(ledger.log(self.application, one, "restore", self._by, self._store.setup, tables=found))
        return found

    def errors(
        self, number: int, *, stage: str | None = None, limit: int = 100, after: str | None = None
    ) -> tuple[list[dict[str, Any]], str | None]:
        """Items that could not be moved or that differ, and the cursor of the next page; None at the end."""
        one, found = self._numbered(number), list[dict[str, Any]]()
        check_stage([one], stage)
        begin, _, cursor = (after or "").rpartition("/")
        places = {f"{move.name}/{which.name}": (move, which) for move, which in stages_of(one, stage)}
        for place, (move, which) in places.items():
            if begin not in ("", place):
                continue
            if len(found) == limit:
                return found, f"{place}/"
            key = self._drive(stored_key(move, which, self._store.setup))
            page = self._store.page(
                ItemError.of_stage, move=key, stage=which.name, limit=limit - len(found), cursor=cursor or None, consistent=True
            )
            found += [error_summary(move, error) for error in page]
            if page.next is not None:
                return found, f"{place}/{page.next}"
            begin = cursor = ""
        return found, None

    def repeat(self, number: int, *, stage: str | None = None) -> dict[str, int]:
        """Retry items that could not be copied, and compare again those that differed; returns how many are left, by `move/stage`."""
        one, left = self._numbered(number), {}
        check_stage([one], stage)
        with self._locked():
            self._drive(ledger.check_code(self.application, self.migrations, self._store.setup))
            for move, which in stages_of(one, stage):
                self._report.step(f"repeating {move.name}, {which.name}")
                left[f"{move.name}/{which.name}"] = self._drive(repeat_failed(move, which, self._store.setup, self._options_for(move)))
            result = f"{sum(left.values())} items are left"
            self._drive(ledger.log(self.application, one, "repeat", self._by, self._store.setup, result=result))
        return left

    def pause(self, number: int, *, paused: bool = True, stage: str | None = None) -> None:
        """Pause a migration after the current page or step, on whichever host it runs; or resume it."""
        one, setup = self._numbered(number), self._store.setup
        if paused:
            self._drive(pause(self.application, one, self._by, setup, stage=stage))
        else:
            self._drive(resume(self.application, self.migrations, one, self._by, setup, stage=stage))

    def _table_problems(
        self, records: Mapping[int, MigrationRecord], chosen: Sequence[Migration], until: Phase, stage: str | None
    ) -> dict[Migration, list[str]]:
        """The problems of the migrations that would be applied."""
        due = [one for one in chosen if not _is_applied(records, one) or self._open_stages(one, until, stage)]
        found: dict[Migration, list[str]] = self._drive(table_problems(due, self._store.setup))
        return found

    def _apply(self, one: Migration, until: Phase, stage: str | None, *, again: bool) -> None:
        # A resumed migration keeps its backups: later ones would not be from before the migration.
        saved = {} if again or self._backups(one) else self._saved_tables(one)
        self._record(one, "applying", "apply", working=True, until=str(until), backups=saved)
        try:
            for table in one.tables:
                self._check_paused(one)
                self._report.step(f"bringing {table.name} to its declaration")
                apply_table(self._store, table, TableSettings(), _CautiousWatcher(self._report))
            self._store.ensure_tables(*one.uses)
            for entity in one.rewrites:
                self._rewrite(one, entity)
            for move, which in stages_of(one, stage):
                self._check_paused(one)
                self._advance(move, which, Phase.CUT_OVER if until.order > Phase.CUT_OVER.order else until)
            self._check_paused(one)
            self._recount(one)
            if until.order > Phase.CUT_OVER.order:
                # Children before their parents, which they may need until the end.
                for move, which in reversed(stages_of(one, stage)):
                    self._advance(move, which, until)
            if one.apply is not None and not again:
                self._check_paused(one)
                one.apply(self._store)
        except Paused as error:
            self._record(one, "applying", "apply", error=error.message)
            raise
        except BaseException as error:
            text = str(error) if isinstance(error, GatelegError) else f"{type(error).__name__}: {error}"
            self._record(one, "failed", "apply", error=text[:2000])
            raise
        open_stages = self._open_stages(one, Phase.CUT_OVER, None)
        self._record(one, "applying" if open_stages else "applied", "apply", reached=str(until))

    def _advance(self, move: KeyMove, stage: MoveStage, until: Phase) -> None:
        self._report.step(f"moving {move.name}, {stage.name}, to {until}")
        self._drive(steps.advance(move, stage, until, self._store.setup, self._options_for(move)))

    def _go_back(self, move: KeyMove, stage: MoveStage, until: Phase) -> None:
        self._report.step(f"going back to {until}: {move.name}, {stage.name}")
        self._drive(steps.go_back(move, stage, until, self._store.setup, self._options_for(move)))

    def _check_paused(self, one: Migration) -> None:
        self._drive(check_paused(self.application, one, self._store.setup))

    def _rewrite(self, one: Migration, entity: Any) -> None:
        self._check_paused(one)
        self._report.step(f"rewriting {entity.__name__}")
        pace, faults = self._options.limits, list[Fault]()
        for report in backfill(self._store, entity, read_units=pace.read_units, write_units=pace.write_units):
            self._keep_lock()
            self._report.progress(f"rewrite {entity.__name__}", _rewrite_progress(report))
            self._check_paused(one)
            faults = report.faults
        if faults:
            first = faults[0]
            raise MigrationRefused(f"{len(faults)} items of {entity.__name__} cannot be rewritten, such as {first.key}: {first.why}")

    def _recount(self, one: Migration) -> None:
        """Recount: a backfill may have counted children before their parents existed."""
        if counted := counted_tables(one):
            self._report.step("counting")
            check_consistency(self._store, counted, fix=True, read_units=self._options.limits.read_units)

    def _saved_tables(self, one: Migration) -> dict[str, str]:
        saved: dict[str, str] = {}
        for table in _changed_tables(one):
            arn = self._drive(backups.back_up(table, f"before-{one.number:04d}", self._store.setup))
            if arn is not None:
                saved[table.name] = arn
        return saved

    def _backups(self, one: Migration) -> dict[str, str]:
        """The backups made when a migration began; those from before a rollback do not count."""
        found: dict[str, str] = {}
        for entry in self._store.query(LedgerEntry.history, application=self.application):
            if entry.number != one.number:
                continue
            if entry.result == "rolled-back":
                break
            if entry.action == "apply" and entry.details.get("backups"):
                found = dict(entry.details["backups"])
        return found

    def _pending_steps(self, one: Migration, until: Phase, *, applied: bool) -> list[str]:
        todo: list[str] = []
        if not applied:
            plans = [plan_of(self._store, table, TableSettings()) for table in one.tables]
            plans += [plan for table in one.uses if not (plan := plan_of(self._store, table, TableSettings())).exists]
            todo += [f"{step.table}: {step.title}" for plan in plans for step in plan.steps]
            todo += [f"rewrite {entity.__name__}" for entity in one.rewrites]
        for move, stage in stages_of(one, None):
            state = self._drive(steps.state_of(move, stage, self._store.setup))
            if until.order > state.order:
                before, after = (self._store.setup.name_of(spec_of(entity).table) for entity in (move.old, move.new))
                phases = " → ".join((state, *phases_between(state, until)))
                todo.append(f"{move.name}, {stage.name} ({before} to {after}): {phases}")
        if not applied and one.apply is not None:
            todo.append("run its own code")
        return todo

    def _open_stages(self, one: Migration, until: Phase, stage: str | None) -> list[tuple[KeyMove, MoveStage]]:
        """The stages that have not reached a phase."""
        found = []
        for move, which in stages_of(one, stage):
            if self._drive(read_state(move, which, self._store.setup)).phase.order < until.order:
                found.append((move, which))
        return found

    def _numbered(self, number: int) -> Migration:
        found = next((one for one in self.migrations if one.number == number), None)
        if found is None:
            raise UnknownMigration(f"{self.application} has no migration {number}.")
        return found

    def _record(self, one: Migration, state: str, action: str, **details: Any) -> None:
        self._drive(ledger.note(self.application, one, state, action, self._by, self._store.setup, **details))

    def _options_for(self, move: KeyMove) -> MoveOptions:
        totals: dict[str, int | None] = {}

        def watch(task: str, checkpoints: list[Checkpoint]) -> None:
            self._keep_lock()
            if task not in totals:
                totals[task] = self._drive(steps.items_in(move, task, self._store.setup))
            self._report.progress(task, progress_of(checkpoints, totals[task]))

        def waiting(text: str) -> None:
            self._keep_lock()
            self._report.step(text)

        return replace(self._options, watch=watch, waiting=waiting)

    def _drive(self, flow: Any) -> Any:
        return self._store.drive(flow)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock of the application's migrations, so that no other host applies them."""
        self._drive(steps.prepare(self._store.setup))
        self._store.ensure_tables(locks)
        with self._store.lock(ledger.lock_name(self.application), seconds=_LOCK_SECONDS, holder=self._by) as lock:
            self._lock = lock
            try:
                yield
            finally:
                self._lock = None

    def _keep_lock(self) -> None:
        """Renew the lock after half of its duration. Raises `LockLost` if another host has taken it."""
        lock = self._lock
        if lock is not None and (lock.until - self._store.setup.now()).total_seconds() < _LOCK_SECONDS / 2:
            self._lock = self._store.run(renew(lock, seconds=_LOCK_SECONDS))


def _rewrite_progress(report: BackfillReport) -> dict[str, Any]:
    """The progress of a rewrite in the form of `progress_of`; the total is unknown."""
    return {
        "total": None,
        "segments": 1,
        "segments_done": int(report.done),
        "seen": report.seen,
        "written": report.rewritten + report.moved,
        "failed": len(report.faults),
        "items_per_second": None,
        "seconds_left": None,
        "done": report.done,
    }


class _CautiousWatcher:
    """Applies only table steps that lose nothing, and reports what it waits for."""

    def __init__(self, report: MigrationCallbacks) -> None:
        self._report = report

    def agree(self, step: Step) -> bool:
        """A migration never takes steps that lose something."""
        return False

    def begin(self, step: Step) -> None:
        self._report.step(step.title)

    def waiting(self, text: str) -> None:
        """Report a change in progress, such as the backfill of an index."""
        self._report.step(text)

    def end(self, step: Step) -> None:
        """Nothing to report."""

    def kept(self, name: str, backup: str | None) -> None:
        """Nothing is deleted."""


def _is_applied(records: Mapping[int, MigrationRecord], one: Migration) -> bool:
    record = records.get(one.number)
    return record is not None and record.state == "applied"


def _changed_tables(one: Migration) -> list[Table]:
    """The tables whose items a migration changes or deletes."""
    tables = [spec_of(move.old).table for move in one.moves] + [spec_of(entity).table for entity in one.rewrites]
    return list(dict.fromkeys(tables))
