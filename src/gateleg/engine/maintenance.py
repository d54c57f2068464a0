"""Background maintenance: backups and restores, backfills of new indexes, expiry of items, trimming of the change log, removal of dropped
tables, exports and imports.

Every step is a short transaction that finds its own work, so that any process may take the next one and nothing is done twice. One process
at a time does so, under a lease, because steps of several processes would leave no room for writers. A process without work has no
maintenance thread.
"""

import logging
import threading
from functools import partial
from secrets import token_hex

import apsw

from gateleg.engine import backfill, changelog, expiry, long_work, stored_backups
from gateleg.engine.catalog import Context
from gateleg.engine.files import TABLE_GONE, translate
from gateleg.engine.integrity import is_damage
from gateleg.engine.layout import Layout
from gateleg.engine.long_work import Chunk, Throttle
from gateleg.engine.schema import Table

#: Interval between rounds while items may expire or indexes are being backfilled, and otherwise.
BUSY_INTERVAL_SECONDS = 1.0
IDLE_INTERVAL_SECONDS = 60.0
#: Expired items to delete per chunk.
EXPIRED_CHUNK_ITEMS = 10
#: How long the process that runs maintenance keeps others from it, counted from its last step.
LEASE_SECONDS = 5.0

_log = logging.getLogger(__name__)


class Maintenance:
    """Maintenance of one engine: `run_once` runs it now, `wake_if_needed` in a background thread."""

    def __init__(self, context: Context, background: bool) -> None:
        self._context = context
        self._pacer = Throttle(context.database)
        self._background = background
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._wake = threading.Event()
        self._stopped = False
        self._name = token_hex(8)
        #: why the last round failed, if it did
        self._failure: str | None = None

    def wake_if_needed(self) -> None:
        """Start or wake the thread if there is work."""
        if not self._background or self._stopped or self._context.database.is_read_only:
            return
        if self._running:
            self._wake.set()
        elif self._has_work():
            with self._starting:
                if not self._running and not self._stopped:
                    self._thread = threading.Thread(target=self._run, name="gateleg-maintenance", daemon=True)
                    self._thread.start()

    @property
    def _running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def stop(self) -> None:
        """Stop the thread after its current step."""
        with self._starting:
            self._stopped = True
        self._wake.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def run_once(self) -> None:
        """Do all work that is due. Only the maintenance thread respects another process's lease."""
        self._advance_copies()
        for layout in self._context.catalog.layouts():
            while backfill.pending(layout.table) and self._backfill(layout.table):
                pass
            while layout.table.ttl is not None and self._backfill_expiry_index(layout):
                pass
            while layout.table.ttl is not None and self._delete_expired(layout):
                pass
        self._trim_history()
        self._remove_dropped()
        self._run_transfers()

    def _step(self, chunk: Chunk) -> bool:
        """Run one step; returns whether there may be more."""
        return not self._stopped and self._pacer.step(lambda connection: self._take_lease(connection) and chunk(connection))

    def _take_lease(self, connection: apsw.Connection) -> bool:
        """Take or renew the lease; False if another process holds it."""
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

    def _advance_copies(self) -> None:
        """Continue backups and restores."""
        with self._context.database.reading() as connection:
            targets = long_work.copy_targets(connection)
        for target in targets:
            copy = self._find_copy(target)
            while copy is not None:
                while self._advance_copy(copy):
                    pass
                phase, copy = copy.phase, self._find_copy(target)
                if copy is not None and copy.phase == phase:
                    break  # left to another process, or to the next round

    def _find_copy(self, target: str) -> long_work.Copy | None:
        with self._context.database.reading() as connection:
            return long_work.find_copy(connection, target)

    def _advance_copy(self, copy: long_work.Copy) -> bool:
        """Run one step of a copy; returns whether there may be more in this phase."""
        counted = None
        if copy.phase == "count":
            with self._context.database.reading() as connection:
                counted = long_work.count_copied(connection, copy)

        def advance(connection: apsw.Connection) -> bool:
            fresh = long_work.find_copy(connection, copy.target)
            if fresh is None or fresh.phase != copy.phase:
                return False
            return not stored_backups.advance_copy(self._context.catalog, connection, fresh, fresh.chunk_rows, counted)

        return self._step(advance)

    def _remove_dropped(self) -> None:
        """Delete the rows of dropped tables."""
        with self._context.database.reading() as connection:
            more = long_work.has_drops(connection)
        while more:
            more = self._step(long_work.advance_drop)

    def _has_work(self) -> bool:
        if any(_has_urgent_work(layout.table) or layout.table.logged for layout in self._context.catalog.cached_layouts()):
            return True
        row = self._context.database.row(
            "SELECT EXISTS(SELECT 1 FROM streams) OR EXISTS(SELECT 1 FROM changes) OR EXISTS(SELECT 1 FROM transfers WHERE pending) "
            "OR EXISTS(SELECT 1 FROM backups WHERE expires IS NOT NULL) OR EXISTS(SELECT 1 FROM copies) OR EXISTS(SELECT 1 FROM drops)"
        )
        return row is not None and bool(row[0])

    def _run(self) -> None:
        self._context.database.use_background_commits()
        while not self._stopped:
            self._wake.clear()
            try:
                self.run_once()
                self._failure = None
            except apsw.ConnectionClosedError:
                return
            except Exception as error:
                self._report(error)
            self._wake.wait(BUSY_INTERVAL_SECONDS if self._has_urgent_work() else IDLE_INTERVAL_SECONDS)

    def _report(self, error: Exception) -> None:
        """Log why a round failed, once per reason."""
        failure = f"{type(error).__name__}: {error}"
        if failure == self._failure:
            return
        self._failure = failure
        if is_damage(error):
            _log.error("maintenance cannot continue because of damaged data; retrying: %s", translate(error))
        else:
            _log.exception("maintenance round failed; retrying in the next round")

    def _has_urgent_work(self) -> bool:
        """Whether work is due soon, for this process or in place of another that may end."""
        if any(_has_urgent_work(layout.table) for layout in self._context.catalog.cached_layouts()):
            return True
        try:
            row = self._context.database.row("SELECT EXISTS(SELECT 1 FROM copies) OR EXISTS(SELECT 1 FROM drops)")
        except apsw.Error:
            return False
        return row is not None and bool(row[0])

    def _backfill(self, table: Table) -> bool:
        """Run one step of a table's backfills; returns whether there may be more."""

        def advance(connection: apsw.Connection) -> bool:
            fresh = self._current(table.id)
            if fresh is None or not backfill.pending(fresh.table):
                return False
            done = backfill.advance(connection, fresh.table, min(backfill.CHUNK_ROWS, long_work.SMALL_TABLE_ROWS))
            if done is not None:
                self._context.catalog.replace(connection, done)
            return done is None or backfill.pending(done)

        return self._step(advance)

    def _backfill_expiry_index(self, layout: Layout) -> bool:
        """Run one step of filling a table's expiry index; returns whether there may be more."""
        with self._context.database.reading() as connection:
            if not expiry.pending(connection, layout.table):
                return False

        def advance(connection: apsw.Connection) -> bool:
            fresh = self._current(layout.table.id)
            if fresh is None:
                return False
            expiry.index(connection, fresh.table)
            return expiry.fill(connection, fresh.table, min(expiry.CHUNK_ROWS, long_work.SMALL_TABLE_ROWS))

        return self._step(advance)

    def _delete_expired(self, layout: Layout) -> bool:
        """Delete a chunk of a table's expired items, as the service does; returns whether there may be more."""
        try:
            with self._context.database.reading() as connection:
                if not expiry.due(connection, layout, self._context.now(), 1):
                    return False
        except TABLE_GONE:
            return False  # the table was dropped after the round began
        from gateleg.engine.operations.items import ItemChange  # imported late: an engine opens without the modules for writes

        def delete(connection: apsw.Connection) -> bool:
            fresh = self._current(layout.table.id)
            if fresh is None or fresh.table.ttl is None:
                return False
            keys = expiry.due(connection, fresh, self._context.now(), EXPIRED_CHUNK_ITEMS)
            for key in keys:
                ItemChange(fresh, key).read(connection).store(self._context, connection, by_service=True)
            return len(keys) == EXPIRED_CHUNK_ITEMS

        return self._step(delete)

    def _current(self, table_id: int) -> Layout | None:
        return next((layout for layout in self._context.catalog.cached_layouts() if layout.table.id == table_id), None)

    def _trim_history(self) -> None:
        """Delete changes that neither streams nor recovery need any more, ended streams, and expired backups."""
        database, now = self._context.database, self._context.now()
        known = {layout.table.id: layout.table for layout in self._context.catalog.cached_layouts()}
        with database.reading() as connection:
            logged = [(table_id, _horizon(known.get(table_id), now)) for table_id in changelog.logged_tables(connection)]
            logged = [(table_id, horizon) for table_id, horizon in logged if changelog.has_older(connection, table_id, horizon)]
            ended = changelog.any_stream_expired(connection, now)
            expired = stored_backups.expired_backups(connection, now)
        for table_id, horizon in logged:
            while self._step(partial(changelog.trim, table_id=table_id, before=horizon)):
                pass
        if ended or expired:
            with database.write() as connection:
                changelog.delete_expired_streams(connection, now)
                for backup in stored_backups.expired_backups(connection, now):
                    stored_backups.remove_backup(connection, backup)

    def _run_transfers(self) -> None:
        """Run pending exports and imports."""
        if self._context.database.row("SELECT 1 FROM transfers WHERE pending LIMIT 1") is None:
            return
        from gateleg.engine.transfers import run_transfers

        run_transfers(self._context, lambda: self._stopped)


def _has_urgent_work(table: Table) -> bool:
    return table.ttl is not None or backfill.pending(table)


def _horizon(table: Table | None, now: float) -> float:
    """The time before which a table's changes are deleted: a day ago for its stream, earlier with point-in-time recovery."""
    seconds = changelog.STREAM_SECONDS
    if table is not None and table.recovery_since is not None:
        seconds = max(seconds, table.recovery_days * changelog.DAY_SECONDS)
    return now - seconds
