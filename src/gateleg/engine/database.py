"""SQLite: connections, transactions, durability, and groups of writes that share one commit.

Every thread has its own connection. Writers of one process queue on a lock, writers of several processes on SQLite's. A write is one
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

from gateleg.engine import files, locking
from gateleg.engine.errors import EngineError
from gateleg.engine.file_format import check_readable, prepare_tables
from gateleg.engine.files import CLOSED, Busy, ReadOnlyAccess, read_only_access, translate
from gateleg.engine.locking import MAX_WAIT_SECONDS, BusyHandler, WriteAheadLog, WriterQueue, limited_wait
from gateleg.private_files import make_file, make_folder, warn_of_exposure

Durability = Literal["full", "relaxed"]
Row = tuple[Any, ...]

#: Page cache of a connection. The rest is in the operating system's cache; mmap gains little and counts as our memory.
_CACHE_KB = 16_000
#: Pause between attempts to open a file that another process is just creating.
_OPEN_RETRY_SECONDS = 0.005
_SYNCHRONOUS = {"full": "FULL", "relaxed": "NORMAL"}


class DatabaseConnection(apsw.Connection):
    """The connection of one thread, or the one that write groups use."""

    #: SQLite's `data_version` when this connection last checked the catalog.
    catalog_data_version: int = -1
    log: WriteAheadLog
    busy_handler: BusyHandler


class Database:
    """One SQLite file, or an in-memory database, used by any number of threads and processes.

    `vfs` names another SQLite VFS than the checksum VFS. With `read_only`, and if this process cannot write the file, it is opened for
    reading only: on read-only media, for instance.
    """

    def __init__(self, path: str, durability: Durability = "full", vfs: str | None = None, *, read_only: bool = False) -> None:
        self.path = path
        self._vfs = vfs
        #: Why no new connection may be opened, once the database is closed.
        self._closed_message: str | None = None
        self.durability: Durability = durability
        #: Called with the connection at the start of each write, with the write lock held; the catalog refreshes itself here.
        self.on_write: Callable[[DatabaseConnection], None] = lambda _: None
        #: Called after a rollback: what was cached in the transaction is invalid.
        self.on_rollback: Callable[[], None] = lambda: None
        self._write_lock = threading.Lock()
        self.writers = WriterQueue(path)
        self._local = threading.local()
        #: All open connections; that of a finished thread disappears with it.
        self._connections: weakref.WeakSet[DatabaseConnection] = weakref.WeakSet()
        #: how many writes of this object have been committed; `PRAGMA data_version` counts those of other connections only
        self.commits = 0
        self._group: WriteGroup | None = None
        self._group_connection: DatabaseConnection | None = None
        #: An in-memory database has one connection for all threads, guarded by a lock.
        self._shared: DatabaseConnection | None = None
        self._shared_cursor: apsw.Cursor | None = None
        self._shared_lock = threading.RLock()
        #: How a file that cannot be written is opened; None for all others.
        self._read_only: ReadOnlyAccess | None = None
        if path != ":memory:":
            self._read_only = read_only_access(path, force=read_only)
            if self._read_only is None:
                self._make_file()
            locking.register(self)
        first = self._connect()
        if path == ":memory:":
            self._shared = first
            self._shared_cursor = first.cursor()
        else:
            self._local.connection = first
        try:
            (prepare_tables if self._read_only is None else check_readable)(first, path)
        except BaseException as error:
            self.close()
            raise translate(error) from None

    def _make_file(self) -> None:
        """Create the file and its folders unless they exist. SQLite gives the files beside it the same permissions."""
        path = Path(self.path)
        try:
            make_folder(path.parent)
            make_file(path)
            warn_of_exposure(path, Path(f"{path}-wal"))
        except OSError as error:
            raise EngineError("InternalServerError", f"{self.path} cannot be opened: {error}") from None

    def _connect(self) -> DatabaseConnection:
        if self._closed_message is not None:
            raise EngineError("InternalServerError", self._closed_message)
        if locking.was_open_at_fork(self.path):
            raise EngineError("InternalServerError", f"{self.path} {locking.FORKED_WHILE_OPEN}")
        try:
            connection = self._open_file()
            connection.busy_handler = BusyHandler(writers=self.writers)
            connection.set_busy_handler(connection.busy_handler)
            connection.log = WriteAheadLog(connection, connection.busy_handler)
            self._connections.add(connection)
            if self._read_only is None:
                _use_wal(connection)
            connection.execute(f"PRAGMA synchronous={_SYNCHRONOUS[self.durability]}")
            connection.execute(f"PRAGMA cache_size=-{_CACHE_KB}")
            connection.execute("PRAGMA temp_store=MEMORY")
        except apsw.CantOpenError:
            raise EngineError(
                "InternalServerError", f"{self.path} cannot be opened: check that the folder exists and is writable"
            ) from None
        except apsw.NotADBError:
            raise EngineError(
                "InternalServerError", f"{self.path} is not a Gateleg file: it is not a SQLite database, or its header is damaged"
            ) from None
        except apsw.Error as error:
            raise translate(error) from error
        return connection

    def _open_file(self) -> DatabaseConnection:
        """Open a connection; a new file reserves space for checksums, which the checksum VFS computes."""
        if self.path == ":memory:":
            return DatabaseConnection(self.path)
        path = Path(self.path)
        if self._read_only is not None:
            return self._read_only.connect(DatabaseConnection, self._vfs or files.vfs())
        if self._vfs is not None:
            connection = DatabaseConnection(self.path, vfs=self._vfs)
            if files.has_checksums(connection):
                connection.close()
                raise EngineError("InternalServerError", f"{self.path} has page checksums, which the VFS {self._vfs} does not maintain")
            return connection
        connection = DatabaseConnection(self.path, vfs=files.vfs())
        if path.stat().st_size == 0:
            files.reserve(connection)
        return connection

    @property
    def connection(self) -> DatabaseConnection:
        """This thread's connection."""
        if self._shared is not None:
            return self._shared
        try:
            connection: DatabaseConnection = self._local.connection
        except AttributeError:
            connection = self._local.connection = self._connect()
        return connection

    def row(self, sql: str, bindings: Sequence[Any] = ()) -> Row | None:
        """The row of a query that returns at most one.

        Creating a cursor costs an eighth of such a query, so each thread keeps one. It fetches to the end, because an open read would keep
        the log from restarting.
        """
        if self._shared_cursor is None:
            try:
                cursor: apsw.Cursor = self._local.cursor
            except AttributeError:
                cursor = self._local.cursor = self.connection.cursor()
            rows = cursor.execute(sql, bindings).fetchall()
        else:
            # Twice as fast as `with`, which is a tenth of a read.
            self._shared_lock.acquire()
            try:
                rows = self._shared_cursor.execute(sql, bindings).fetchall()
            finally:
                self._shared_lock.release()
        return rows[0] if rows else None

    def rows(self, sql: str, bindings: Sequence[Any] = ()) -> list[Row]:
        """All rows of a query."""
        with self.reading() as connection:
            return connection.execute(sql, bindings).fetchall()

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """A connection for reading; an in-memory database is locked meanwhile, a file is not."""
        if self._shared is None:
            yield self.connection
        else:
            with self._shared_lock:
                yield self._shared

    @contextmanager
    def snapshot(self) -> Iterator[apsw.Connection]:
        """A connection in a read transaction: all queries see the same state."""
        with self.reading() as connection:
            if connection.in_transaction:
                yield connection
                return
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                _roll_back(connection)

    @property
    def is_read_only(self) -> bool:
        """Whether this process cannot write the file."""
        return self._read_only is not None

    def require_writable(self) -> None:
        """Refuse a write to a file that is open for reading only."""
        if self._read_only is not None:
            raise EngineError("AccessDeniedException", f"{self.path} {self._read_only.refusal}")

    def write(self) -> "WriteTransaction":
        """A write transaction: `with database.write() as connection`. It is durable after the block ends without an error."""
        return WriteTransaction(self, savepoint=True)

    def write_step(self) -> "WriteTransaction":
        """`write` for a step of long work, which runs checkpoints itself (`long_work.py`)."""
        return WriteTransaction(self, savepoint=True, checkpoints=False)

    def write_item(self) -> "WriteTransaction":
        """`write` for one item, where every check comes before the first change.

        Within a group it needs no savepoint, which would cost as much as an index entry: an error after a change rolls back the group.
        """
        return WriteTransaction(self, savepoint=False)

    def begin_group(self) -> "WriteGroup":
        """Start a transaction that all writes of this thread join until `commit`."""
        self.require_writable()
        self.writers.acquire(self._write_lock)
        return WriteGroup(self)

    def try_begin_group(self) -> "WriteGroup | None":
        """`begin_group`, or None if another thread or process is writing."""
        self.require_writable()
        connection = self.group_connection()
        if not self._write_lock.acquire(blocking=False):
            return None
        if self._shared is not None:
            return WriteGroup(self)  # an in-memory database has no other process
        try:
            with limited_wait(connection, 0.0, connection.busy_handler):
                return WriteGroup(self)
        except Busy:
            return None

    def group_connection(self) -> DatabaseConnection:
        """The connection that groups write on; reads use the threads' own connections."""
        if self._shared is not None:
            return self._shared
        if self._group_connection is None:
            self._group_connection = self._connect()
        return self._group_connection

    def use_background_commits(self) -> None:
        """Make this thread's commits cheap for other writers: they are not synced, but become durable with the next synced commit.

        Only for work that has not been acknowledged: after a power cut, the last of it may have to be repeated.
        """
        if self._shared is None:
            self.connection.execute("PRAGMA synchronous=NORMAL")
            self.connection.log.checkpoint_early()

    def invalidate_catalog(self) -> None:
        """Have every connection check the catalog before its next write."""
        for connection in list(self._connections):
            connection.catalog_data_version = -1

    def close(self) -> None:
        """Close every connection; the last one of the last process checkpoints the log."""
        if self._group is not None and self._group.owner == threading.get_ident():
            self._group.roll_back()
        with self._write_lock, self._shared_lock:
            self._closed_message = CLOSED
            self._local, self._group_connection = threading.local(), None
            for connection in list(self._connections):
                # A connection that a thread is reading on closes when that thread lets it go.
                with suppress(apsw.ThreadingViolationError):
                    connection.close()
        self.writers.close()
        locking.unregister(self)

    def abandon_after_fork(self) -> None:
        """In a forked child: let go of the connections without closing them, because they are the parent's."""
        locking.keep_alive(list(self._connections), self._local)
        self._closed_message = f"{self.path} {locking.FORKED_WHILE_OPEN}"
        self._connections, self._local, self._group_connection = weakref.WeakSet(), threading.local(), None
        self._write_lock = threading.Lock()
        self.writers.close()
        self.writers = WriterQueue(self.path)


class WriteTransaction:
    """One write: a transaction of its own, or a savepoint in the group that is open on this thread."""

    __slots__ = ("_changes", "_checkpoints", "_connection", "_database", "_grouped", "_savepoint")

    def __init__(self, database: Database, savepoint: bool, checkpoints: bool = True) -> None:
        self._database = database
        self._savepoint = savepoint
        self._checkpoints = checkpoints

    def __enter__(self) -> DatabaseConnection:
        database = self._database
        database.require_writable()
        group = database._group
        self._grouped = group is not None and group.owner == threading.get_ident()
        if not self._grouped:
            database.writers.acquire(database._write_lock)
        try:
            if database._shared is not None:
                database._shared_lock.acquire()
            if self._grouped:
                self._connection = database.group_connection()
                _require_transaction(self._connection)
                if self._savepoint:
                    self._connection.execute("SAVEPOINT step")
                else:
                    self._changes = self._connection.total_changes()
            else:
                self._connection = _begin(database, database.connection)
        except BaseException as error:
            self._release_locks()
            raise translate(error) from error
        return self._connection

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if kind is None:
                if not self._grouped:
                    _commit(self._connection)
                    self._database.commits += 1
                elif self._savepoint:
                    self._connection.execute("RELEASE step")
        except apsw.Error as failed:
            error = failed
        finally:
            try:
                if error is not None:
                    self._roll_back_changes()
            finally:
                self._release_locks()
        if error is None:
            if self._checkpoints and not self._grouped:
                # After the locks are released: other threads may write meanwhile.
                self._connection.log.checkpoint_if_long(self._connection)
            return
        if isinstance(error, apsw.Error) and (kind is None or not files.is_damage(error)):
            # Damage met within the block is reported by the caller, which knows what was read.
            raise translate(error) from error

    def _roll_back_changes(self) -> None:
        self._database.on_rollback()
        if not self._connection.in_transaction:
            return
        if self._grouped and self._savepoint:
            self._connection.execute("ROLLBACK TO step; RELEASE step")
        elif not self._grouped or self._connection.total_changes() != self._changes:
            _roll_back(self._connection)

    def _release_locks(self) -> None:
        if self._database._shared is not None:
            self._database._shared_lock.release()
        if not self._grouped:
            self._database._write_lock.release()


class WriteGroup:
    """Several writes of one thread that share one commit. Reads on that thread see committed data only.

    The caller holds this process's write lock.
    """

    def __init__(self, database: Database) -> None:
        self.owner = threading.get_ident()
        self._database = database
        try:
            with database._shared_lock:
                self._connection = _begin(database, database.group_connection())
        except BaseException as error:
            database._write_lock.release()
            raise translate(error) from error
        database._group = self

    def commit(self) -> None:
        """Make the whole group durable, or roll it back. May run on another thread than the writes."""
        # From here on, writes of the owner wait instead of joining.
        self._database._group = None
        try:
            with self._database._shared_lock:
                _require_transaction(self._connection)
                _commit(self._connection)
                self._database.commits += 1
        except BaseException as error:
            self._roll_back_changes()
            raise translate(error) from error
        finally:
            self._database._write_lock.release()
        log = self._connection.log
        if log.is_long:
            # The next group may already use the group connection.
            log.checkpoint_if_long(self._database.connection)

    def roll_back(self) -> None:
        """Roll the group back."""
        self._database._group = None
        try:
            self._roll_back_changes()
        finally:
            self._database._write_lock.release()

    def _roll_back_changes(self) -> None:
        self._database.on_rollback()
        with self._database._shared_lock:
            _roll_back(self._connection)


def _begin(database: Database, connection: DatabaseConnection) -> DatabaseConnection:
    """Take SQLite's write lock and refresh the catalog."""
    try:
        connection.execute("BEGIN IMMEDIATE")
    finally:
        database.writers.withdraw()
    try:
        database.on_write(connection)
    except BaseException:
        _roll_back(connection)
        raise
    return connection


def _commit(connection: DatabaseConnection) -> None:
    """Commit. The connection need not look at its own changes again."""
    connection.execute("COMMIT")
    connection.catalog_data_version = connection.data_version()


def _roll_back(connection: apsw.Connection) -> None:
    """Roll back, unless an error has already ended the transaction."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def _require_transaction(connection: apsw.Connection) -> None:
    """Refuse to continue after SQLite has ended a transaction by itself, as it does on some errors."""
    if not connection.in_transaction:
        raise EngineError("InternalServerError", "The group of writes was rolled back and nothing was written. Try again")


def _use_wal(connection: apsw.Connection) -> None:
    """Switch to WAL mode. While another process does the same to a new file, SQLite fails at once instead of waiting."""
    deadline = time.monotonic() + MAX_WAIT_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL").fetchall()
            return
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_OPEN_RETRY_SECONDS)
