"""SQLite underneath: connections, transactions, durability, groups of writes that share one commit.

Every thread has a connection of its own. Writers of one process queue on a lock, writers of several processes on SQLite's. A write is one
`BEGIN IMMEDIATE ... COMMIT`; in WAL mode readers never wait for it.
"""

import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import apsw

from gateleg.engine import checksums, forks, permissions
from gateleg.engine.busy_handler import LONGEST, BusyHandler, waiting
from gateleg.engine.checkpoints import Log
from gateleg.engine.errors import EngineError
from gateleg.engine.failures import CLOSED, Busy, translate
from gateleg.engine.fileformat import prepare
from gateleg.engine.waiters import Waiters

Durability = Literal["full", "relaxed"]
Row = tuple[Any, ...]

#: Pages that a connection keeps. The rest is in the system's own cache: mapping the file instead gains little and shows as memory.
_CACHE_KB = 16_000
#: Seconds between two attempts to open a file that another process is just setting up.
_OPENING_SECONDS = 0.005
_SYNCHRONOUS = {"full": "FULL", "relaxed": "NORMAL"}


class Connection(apsw.Connection):
    """A connection of one thread, or that of groups."""

    #: The state of the file, counted by SQLite, in which this connection has last seen the catalog.
    seen: int = -1
    log: Log
    busy_handler: BusyHandler


class Database:
    """One SQLite file (or memory), opened by any number of threads and processes.

    `vfs` names the file system of SQLite's to use instead of the one that keeps checksums.
    """

    def __init__(self, path: str, durability: Durability = "full", vfs: str | None = None) -> None:
        self.path = path
        self._vfs = vfs
        #: Why no connection may be opened any more.
        self._refusal: str | None = None
        self.durability: Durability = durability
        #: Called at the start of each write, once other writers are shut out, with the connection; the catalog refreshes itself here.
        self.on_write: Callable[[Connection], None] = lambda _: None
        #: Called when a write was undone: what was cached from it must be forgotten.
        self.on_undo: Callable[[], None] = lambda: None
        self._writers = threading.Lock()
        #: Those who wait to write, threads and other processes.
        self.waiters = Waiters(path)
        self._local = threading.local()
        #: The connections that threads hold; that of a thread that has ended goes with it.
        self._open: weakref.WeakSet[Connection] = weakref.WeakSet()
        self._group: Group | None = None
        self._grouping: Connection | None = None
        #: Memory has one connection for all threads, and a lock around each use of it.
        self._shared: Connection | None = None
        self._sharing = threading.RLock()
        if path != ":memory:":
            self._make_private()
            forks.watch(self)
        first = self._connect()
        if path == ":memory:":
            self._shared = first
        else:
            self._local.connection = first
        try:
            prepare(first, path)
        except BaseException as error:
            self.close()
            raise translate(error) from None

    def _make_private(self) -> None:
        """Have the file, and the folders that are made for it, be its owner's alone."""
        path = Path(self.path)
        try:
            permissions.make_folder(path.parent)
            permissions.make_file(path)
            permissions.tighten(path)
        except OSError as error:
            raise EngineError("InternalServerError", f"{self.path} cannot be opened: {error}") from None

    def _connect(self) -> Connection:
        if self._refusal is not None:
            raise EngineError("InternalServerError", self._refusal)
        if forks.inherited(self.path):
            raise EngineError("InternalServerError", f"{self.path} {forks.WHY}")
        try:
            connection = self._open_file()
            connection.busy_handler = BusyHandler(waiters=self.waiters)
            connection.set_busy_handler(connection.busy_handler)
            connection.log = Log(connection, connection.busy_handler)
            self._open.add(connection)
            _use_wal(connection)
            connection.execute(f"PRAGMA synchronous={_SYNCHRONOUS[self.durability]}")
            connection.execute(f"PRAGMA cache_size=-{_CACHE_KB}")
            connection.execute("PRAGMA temp_store=MEMORY")
        except apsw.CantOpenError:
            raise EngineError(
                "InternalServerError", f"{self.path} cannot be opened: check that the folder exists and may be written to"
            ) from None
        except apsw.NotADBError:
            raise EngineError(
                "InternalServerError", f"{self.path} is not a Gateleg file: it is not a SQLite database, or its beginning is damaged"
            ) from None
        except apsw.Error as error:
            raise translate(error) from error
        return connection

    def _open_file(self) -> Connection:
        """A connection to the file; a new file gets room for checksums, which the file system of SQLite's that we use computes."""
        if self.path == ":memory:":
            return Connection(self.path)
        path = Path(self.path)
        if self._vfs is not None:
            connection = Connection(self.path, vfs=self._vfs)
            if checksums.protected(connection):
                connection.close()
                raise EngineError("InternalServerError", f"{self.path} has checksums, which the VFS {self._vfs} does not keep")
            return connection
        connection = Connection(self.path, vfs=checksums.vfs())
        if path.stat().st_size == 0:
            checksums.protect(connection)
        return connection

    @property
    def connection(self) -> Connection:
        """This thread's connection."""
        if self._shared is not None:
            return self._shared
        try:
            connection: Connection = self._local.connection
        except AttributeError:
            connection = self._local.connection = self._connect()
        return connection

    def row(self, sql: str, bindings: Sequence[Any] = ()) -> Row | None:
        """The row of a query that has one row at most.

        To make a cursor costs an eighth of such a query, so each thread keeps one. It reads to the end: until then, it would keep the log
        from beginning anew.
        """
        if self._shared is None:
            try:
                cursor: apsw.Cursor = self._local.cursor
            except AttributeError:
                cursor = self._local.cursor = self.connection.cursor()
            rows = cursor.execute(sql, bindings).fetchall()
            return rows[0] if rows else None
        with self._sharing:
            return self._shared.execute(sql, bindings).fetchone()

    def rows(self, sql: str, bindings: Sequence[Any] = ()) -> list[Row]:
        """All rows of a query."""
        with self.reading() as connection:
            return connection.execute(sql, bindings).fetchall()

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """A connection whose rows can be stepped through; memory is held still meanwhile, a file needs no such care."""
        if self._shared is None:
            yield self.connection
        else:
            with self._sharing:
                yield self._shared

    @contextmanager
    def snapshot(self) -> Iterator[apsw.Connection]:
        """A connection on which several queries see one and the same state."""
        with self.reading() as connection:
            if connection.in_transaction:
                yield connection
                return
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                _roll_back(connection)

    def write(self) -> "Writing":
        """A transaction: `with database.write() as connection`. It is durable once the block has been left without an error."""
        return Writing(self, whole=True)

    def write_step(self) -> "Writing":
        """`write` for a step of long work, which looks after the log itself (`pacing.py`)."""
        return Writing(self, whole=True, folds=False)

    def write_item(self) -> "Writing":
        """`write` for a single item, where all that can be refused is refused before the first change.

        In a group it needs no savepoint, which costs as much as an entry of an index: an error after a change gives the whole group up.
        """
        return Writing(self, whole=False)

    def begin_group(self) -> "Group":
        """Start a transaction that all writes of this thread join until its `commit`."""
        self.waiters.acquire(self._writers)
        return Group(self)

    def try_begin_group(self) -> "Group | None":
        """`begin_group`, unless that would have to wait for another thread or process that is writing."""
        connection = self.group_connection()
        if not self._writers.acquire(blocking=False):
            return None
        if self._shared is not None:
            return Group(self)  # no other process has this memory
        try:
            with waiting(connection, 0.0, connection.busy_handler):
                return Group(self)
        except Busy:
            return None

    def group_connection(self) -> Connection:
        """The connection that groups write on, apart from the ones that read."""
        if self._shared is not None:
            return self._shared
        if self._grouping is None:
            self._grouping = self._connect()
        return self._grouping

    def work_in_background(self) -> None:
        """Have this thread's commits hold writers up as little as can be: they are on the disk with the next one of another thread.

        Nothing that is acknowledged may be written so. After a power cut, the last of it may have to be done again.
        """
        if self._shared is None:
            self.connection.execute("PRAGMA synchronous=NORMAL")
            self.connection.log.fold_early()

    def forget_catalog(self) -> None:
        """Have every connection look at the catalog before its next write."""
        for connection in list(self._open):
            connection.seen = -1

    def close(self) -> None:
        """Close every connection; the last one of the last process folds the log into the file."""
        if self._group is not None and self._group.owner == threading.get_ident():
            self._group.roll_back()
        with self._writers, self._sharing:
            self._refusal = CLOSED
            self._local, self._grouping = threading.local(), None
            for connection in list(self._open):
                # One that a thread is reading on closes when that thread is done with it and lets it go.
                with suppress(apsw.ThreadingViolationError):
                    connection.close()
        self.waiters.close()
        forks.forget(self)

    def abandon(self) -> None:
        """In a process that was forked while this was open: leave the connections alone, for they are the parent's."""
        forks.keep(list(self._open), self._local)
        self._refusal = f"{self.path} {forks.WHY}"
        self._open, self._local, self._grouping = weakref.WeakSet(), threading.local(), None
        self._writers = threading.Lock()
        self.waiters.close()
        self.waiters = Waiters(self.path)


class Writing:
    """One write: a transaction of its own, or a step in the group that is open on this thread."""

    __slots__ = ("_changes", "_connection", "_database", "_folds", "_grouped", "_whole")

    def __init__(self, database: Database, whole: bool, folds: bool = True) -> None:
        self._database = database
        self._whole = whole
        self._folds = folds

    def __enter__(self) -> Connection:
        database = self._database
        group = database._group
        self._grouped = group is not None and group.owner == threading.get_ident()
        if not self._grouped:
            database.waiters.acquire(database._writers)
        try:
            if database._shared is not None:
                database._sharing.acquire()
            if self._grouped:
                self._connection = database.group_connection()
                _require_transaction(self._connection)
                if self._whole:
                    self._connection.execute("SAVEPOINT step")
                else:
                    self._changes = self._connection.total_changes()
            else:
                self._connection = _begin(database, database.connection)
        except BaseException as error:
            self._leave()
            raise translate(error) from error
        return self._connection

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if kind is None:
                if not self._grouped:
                    _commit(self._connection)
                elif self._whole:
                    self._connection.execute("RELEASE step")
        except apsw.Error as failed:
            error = failed
        finally:
            try:
                if error is not None:
                    self._undo()
            finally:
                self._leave()
        if error is None:
            if self._folds and not self._grouped:
                # Other threads of this process can write meanwhile.
                self._connection.log.look_after(self._connection)
            return
        if isinstance(error, apsw.Error) and (kind is None or not checksums.is_damage(error)):
            # Damage that the block met is named by whoever knows what it was looking for.
            raise translate(error) from error

    def _undo(self) -> None:
        self._database.on_undo()
        if not self._connection.in_transaction:
            return
        if self._grouped and self._whole:
            self._connection.execute("ROLLBACK TO step; RELEASE step")
        elif not self._grouped or self._connection.total_changes() != self._changes:
            _roll_back(self._connection)

    def _leave(self) -> None:
        if self._database._shared is not None:
            self._database._sharing.release()
        if not self._grouped:
            self._database._writers.release()


class Group:
    """Several writes of one thread that share one commit. Reads on that thread go on seeing what is committed.

    Whoever makes one has shut out the other writers of this process.
    """

    def __init__(self, database: Database) -> None:
        self.owner = threading.get_ident()
        self._database = database
        try:
            with database._sharing:
                self._connection = _begin(database, database.group_connection())
        except BaseException as error:
            database._writers.release()
            raise translate(error) from error
        database._group = self

    def commit(self) -> None:
        """Make all of the group durable, or none of it. May be called on another thread than the one that wrote."""
        # From here on, writes of the owner do not join any more but wait.
        self._database._group = None
        try:
            with self._database._sharing:
                _require_transaction(self._connection)
                _commit(self._connection)
        except (apsw.Error, EngineError) as error:
            self._undo()
            raise translate(error) from error
        finally:
            self._database._writers.release()
        log = self._connection.log
        if log.is_long:
            # The next group may have begun on the other connection.
            log.look_after(self._database.connection)

    def roll_back(self) -> None:
        """Give all of the group up."""
        self._database._group = None
        try:
            self._undo()
        finally:
            self._database._writers.release()

    def _undo(self) -> None:
        self._database.on_undo()
        with self._database._sharing:
            _roll_back(self._connection)


def _begin(database: Database, connection: Connection) -> Connection:
    """Shut other writers out, and see what they have done."""
    try:
        connection.execute("BEGIN IMMEDIATE")
    finally:
        database.waiters.withdraw()
    try:
        database.on_write(connection)
    except BaseException:
        _roll_back(connection)
        raise
    return connection


def _commit(connection: Connection) -> None:
    """End a transaction. What it has done to the file is nothing that the connection has to see."""
    connection.execute("COMMIT")
    connection.seen = connection.data_version()


def _roll_back(connection: apsw.Connection) -> None:
    """End a transaction without effect; some errors have ended it already."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def _require_transaction(connection: apsw.Connection) -> None:
    """SQLite ends a transaction by itself on some errors, and nothing may then be written as if it went on."""
    if not connection.in_transaction:
        raise EngineError("InternalServerError", "The group of writes was rolled back: nothing of it was written. Try again")


def _use_wal(connection: apsw.Connection) -> None:
    """Turn the write-ahead log on. While another process does the same to a new file, SQLite does not wait but says so at once."""
    deadline = time.monotonic() + LONGEST
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL").fetchall()
            return
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_OPENING_SECONDS)
