"""Background maintenance: make backups and restore tables, backfill new indexes, delete expired items, trim the change log, remove what was
dropped, run exports and imports.

Every step is a short transaction of its own that looks for its work inside that transaction, so any process may take the next one, and
nothing is done twice. One process at a time takes them: as many steps at once as there are processes would leave no room for writers. A
process that has nothing to do has no thread for it.
"""

import logging
import threading
from functools import partial
from secrets import token_hex

import apsw

from gateleg.engine import archive, backfill, changelog, copies, copying, drops, expiry, streams
from gateleg.engine.context import Context
from gateleg.engine.damage import is_damage
from gateleg.engine.failures import TABLE_GONE, translate
from gateleg.engine.layout import Layout
from gateleg.engine.pacing import Chunk, Pace
from gateleg.engine.schema import Table

#: Seconds between two rounds while items may expire or indexes wait to be filled, and otherwise.
BUSY_SECONDS = 1.0
IDLE_SECONDS = 60.0
#: Expired items that are deleted between two looks at the clock.
SWEEP_CHUNK = 10
#: Seconds for which a process that takes steps keeps others from it, counted from its last one.
LEASE_SECONDS = 5.0

_log = logging.getLogger(__name__)


class Maintenance:
    """The upkeep of one engine: `round` does it once, `start` leaves it to a thread."""

    def __init__(self, context: Context, background: bool) -> None:
        self._context = context
        self._pace = Pace(context.database)
        self._background = background
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._wake = threading.Event()
        self._stopped = False
        self._name = token_hex(8)
        #: why the last round failed, if it did
        self._failure: str | None = None

    def consider(self) -> None:
        """Start the thread, or wake it, if there is something to do."""
        if not self._background or self._stopped:
            return
        if self._running:
            self._wake.set()
        elif self._needed():
            with self._starting:
                if not self._running and not self._stopped:
                    self._thread = threading.Thread(target=self._run, name="gateleg-maintenance", daemon=True)
                    self._thread.start()

    @property
    def _running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def stop(self) -> None:
        """End the thread after the step it is in."""
        with self._starting:
            self._stopped = True
        self._wake.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def round(self) -> None:
        """Do all that is to be done now. The thread leaves it to another process that is at it; whoever else calls this does not."""
        self._copy()
        for layout in self._context.catalog.every():
            while backfill.pending(layout.table) and self._fill(layout.table):
                pass
            while layout.table.ttl is not None and self._fill_expiries(layout):
                pass
            while layout.table.ttl is not None and self._sweep(layout):
                pass
        self._trim()
        self._drop()
        self._transfer()

    def _step(self, chunk: Chunk) -> bool:
        """Take one step; whether there may be more."""
        return not self._stopped and self._pace.step(lambda connection: self._may_step(connection) and chunk(connection))

    def _may_step(self, connection: apsw.Connection) -> bool:
        """Whether no other process takes the steps; those of the time to come are then this one's."""
        if threading.current_thread() is not self._thread:
            return True
        now = self._context.now()
        row = connection.execute("SELECT value FROM meta WHERE name = 'upkeep'").fetchone()
        name, _, until = str(row[0] if row else None).partition(" ")
        left = float(until or 0) - now
        if name != self._name and 0 < left <= LEASE_SECONDS:
            return False
        if name != self._name or left < LEASE_SECONDS / 2:
            connection.execute("UPDATE meta SET value = ? WHERE name = 'upkeep'", (f"{self._name} {now + LEASE_SECONDS}",))
        return True

    def _copy(self) -> None:
        """Go on with backups and restores."""
        with self._context.database.reading() as connection:
            targets = copies.targets(connection)
        for target in targets:
            copy = self._find_copy(target)
            while copy is not None:
                while self._advance_copy(copy):
                    pass
                phase, copy = copy.phase, self._find_copy(target)
                if copy is not None and copy.phase == phase:
                    break  # it was left to another process, or to the next one

    def _find_copy(self, target: str) -> copies.Copy | None:
        with self._context.database.reading() as connection:
            return copies.find(connection, target)

    def _advance_copy(self, copy: copies.Copy) -> bool:
        """Take one step of a copy; whether there may be more of this phase."""
        counted = None
        if copy.phase == "count":
            with self._context.database.reading() as connection:
                counted = copies.count(connection, copy)

        def advance(connection: apsw.Connection) -> bool:
            fresh = copies.find(connection, copy.target)
            if fresh is None or fresh.phase != copy.phase:
                return False
            return not copying.advance(self._context.catalog, connection, fresh, fresh.step, counted)

        return self._step(advance)

    def _drop(self) -> None:
        """Remove the rows of what was dropped."""
        with self._context.database.reading() as connection:
            more = drops.pending(connection)
        while more:
            more = self._step(drops.advance)

    def _needed(self) -> bool:
        if any(_busy(layout.table) or layout.table.logged for layout in self._context.catalog.known()):
            return True
        row = self._context.database.row(
            "SELECT EXISTS(SELECT 1 FROM streams) OR EXISTS(SELECT 1 FROM changes) OR EXISTS(SELECT 1 FROM transfers WHERE pending) "
            "OR EXISTS(SELECT 1 FROM backups WHERE expires IS NOT NULL) OR EXISTS(SELECT 1 FROM copies) OR EXISTS(SELECT 1 FROM drops)"
        )
        return row is not None and bool(row[0])

    def _run(self) -> None:
        self._context.database.work_in_background()
        while not self._stopped:
            self._wake.clear()
            try:
                self.round()
                self._failure = None
            except apsw.ConnectionClosedError:
                return
            except Exception as error:
                self._report(error)
            self._wake.wait(BUSY_SECONDS if self._busy() else IDLE_SECONDS)

    def _report(self, error: Exception) -> None:
        """Log why a round failed; once, as long as it is for the same reason."""
        failure = f"{type(error).__name__}: {error}"
        if failure == self._failure:
            return
        self._failure = failure
        if is_damage(error):
            _log.error("Maintenance cannot go on, and tries again: %s", translate(error))
        else:
            _log.exception("A round of maintenance failed; the next one tries again")

    def _busy(self) -> bool:
        """Whether there is something to be done soon, by this process or, should that end, in place of another."""
        if any(_busy(layout.table) for layout in self._context.catalog.known()):
            return True
        try:
            row = self._context.database.row("SELECT EXISTS(SELECT 1 FROM copies) OR EXISTS(SELECT 1 FROM drops)")
        except apsw.Error:
            return False
        return row is not None and bool(row[0])

    def _fill(self, table: Table) -> bool:
        """Take one step of filling a table's new indexes; whether there may be more."""

        def advance(connection: apsw.Connection) -> bool:
            fresh = self._current(table.id)
            if fresh is None or not backfill.pending(fresh.table):
                return False
            done = backfill.advance(connection, fresh.table, min(backfill.STEP, backfill.CHUNK))
            if done is not None:
                self._context.catalog.replace(connection, done)
            return done is None or backfill.pending(done)

        return self._step(advance)

    def _fill_expiries(self, layout: Layout) -> bool:
        """Take one step of filling a table's index of expiries; whether there may be more."""
        with self._context.database.reading() as connection:
            if not expiry.pending(connection, layout.table):
                return False

        def advance(connection: apsw.Connection) -> bool:
            fresh = self._current(layout.table.id)
            if fresh is None:
                return False
            expiry.index(connection, fresh.table)
            return expiry.fill(connection, fresh.table, min(expiry.STEP, expiry.CHUNK))

        return self._step(advance)

    def _sweep(self, layout: Layout) -> bool:
        """Delete a chunk of a table's expired items, as the service; whether there may be more."""
        try:
            with self._context.database.reading() as connection:
                if not expiry.due(connection, layout, self._context.now(), 1):
                    return False
        except TABLE_GONE:
            return False  # the table has been dropped since the round began
        from gateleg.engine.operations.writing import Change  # an engine opens without what only writes need

        def delete(connection: apsw.Connection) -> bool:
            fresh = self._current(layout.table.id)
            if fresh is None or fresh.table.ttl is None:
                return False
            keys = expiry.due(connection, fresh, self._context.now(), SWEEP_CHUNK)
            for key in keys:
                Change(fresh, key).read(connection).store(self._context, connection, by_service=True)
            return len(keys) == SWEEP_CHUNK

        return self._step(delete)

    def _current(self, table_id: int) -> Layout | None:
        return next((layout for layout in self._context.catalog.known() if layout.table.id == table_id), None)

    def _trim(self) -> None:
        """Forget changes that neither a stream nor recovery may ask for, streams that have ended, and backups that have expired."""
        database, now = self._context.database, self._context.now()
        known = {layout.table.id: layout.table for layout in self._context.catalog.known()}
        with database.reading() as connection:
            logged = [(table_id, _horizon(known.get(table_id), now)) for table_id in changelog.tables(connection)]
            logged = [(table_id, horizon) for table_id, horizon in logged if changelog.reaches(connection, table_id, horizon)]
            ended = streams.any_ended(connection, now)
            expired = archive.expired(connection, now)
        for table_id, horizon in logged:
            while self._step(partial(changelog.trim, table_id=table_id, before=horizon)):
                pass
        if ended or expired:
            with database.write() as connection:
                streams.forget_ended(connection, now)
                for backup in archive.expired(connection, now):
                    archive.remove(connection, backup)

    def _transfer(self) -> None:
        """Run the exports and imports that wait."""
        if self._context.database.row("SELECT 1 FROM transfers WHERE pending LIMIT 1") is None:
            return
        from gateleg.engine import transfers

        transfers.run(self._context, lambda: self._stopped)


def _busy(table: Table) -> bool:
    return table.ttl is not None or backfill.pending(table)


def _horizon(table: Table | None, now: float) -> float:
    """Since when a table's changes are kept: a day for its stream, longer if it can be recovered."""
    seconds = changelog.STREAM_SECONDS
    if table is not None and table.recovery_since is not None:
        seconds = max(seconds, table.recovery_days * changelog.DAY)
    return now - seconds
