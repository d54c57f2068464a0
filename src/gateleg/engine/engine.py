"""The embedded DynamoDB engine: one SQLite file, and one method that answers requests."""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cache
from importlib import import_module
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any

import apsw
import orjson

from gateleg.engine import files, integrity, protocol
from gateleg.engine.catalog import Catalog, Context
from gateleg.engine.database import Database, Durability, WriteGroup
from gateleg.engine.errors import EngineError, InvalidValueError, not_found, serialization, value_error
from gateleg.engine.files import TABLE_GONE, translate
from gateleg.engine.maintenance import Maintenance
from gateleg.engine.schema import Namespace
from gateleg.plain import is_plain

Handler = Callable[[Context, dict[str, Any]], dict[str, Any]]
#: The second step of a call.
Ready = Callable[[], dict[str, Any]]

#: Modules with operations, busiest first. Each is imported on the first call of one of its operations, so that an engine opens quickly.
_OPERATION_MODULES = (
    "items",
    "query",
    "batch",
    "tables",
    "partiql",
    "streams",
    "backups",
    "transfers",
)

_OPERATIONS: dict[str, Handler] = {}
_PLAIN_GETS = is_plain("gets")
_PLAIN_SPLICING = is_plain("splicing")

#: Errors that may be due to an outdated table definition.
_TABLE_DEPENDENT_ERRORS = {"ValidationException", "TransactionCanceledException"}

#: Errors that DynamoDB reports only after it has checked the JSON types of the whole request.
_ERRORS_AFTER_TYPE_CHECK = {"ValidationException", "ResourceNotFoundException"}

_ITEM_WRITES = {"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"}


class Engine:
    """DynamoDB in this process, stored in one SQLite file, or in memory with `Engine(":memory:")`.

    Any number of threads may share an engine, and any number of processes may open one file. With `durability="full"` an acknowledged
    write survives power loss. With `"relaxed"` it survives a crash of the process; a power cut may lose the latest writes, but never
    corrupts the file. `clock` returns the time in seconds since the epoch; tests pass their own.

    A background thread, which exists only while there is work, deletes expired items, backfills new indexes of large tables, and runs
    exports and imports. With `background=False`, call `maintain` instead. Exports and imports use the subfolders of `exports` as S3
    buckets; the default is a folder `exports` beside the file. `vfs` names another SQLite VFS than the checksum VFS (`files.py`).
    `like_local` makes the engine behave as DynamoDB Local does where that differs from the service.
    """

    def __init__(
        self,
        path: str | PathLike[str] = ":memory:",
        *,
        durability: Durability = "full",
        namespace: Namespace | None = None,
        clock: Callable[[], float] = time.time,
        background: bool = True,
        exports: str | Path | None = None,
        vfs: str | None = None,
        like_local: bool = False,
    ) -> None:
        self.path = path = os.fspath(path)
        self.durability: Durability = durability
        self.namespace = namespace or Namespace()
        self.database = Database(path, durability, vfs)
        self.clock = clock

        def clock_in_milliseconds() -> float:
            return int(clock() * 1000) / 1000

        try:
            self.catalog = Catalog(self.database, clock_in_milliseconds)
        except (apsw.Error, EngineError) as error:
            self.database.close()
            raise translate(error) from error
        if exports is None and path != ":memory:":
            exports = Path(path).parent / "exports"
        folder = Path(exports) if exports is not None else None
        context = Context(self.database, self.catalog, clock_in_milliseconds, self.namespace, exports=folder, like_local=like_local)
        self._maintenance = Maintenance(context, background)
        self._context = replace(context, wake=self._maintenance.wake_if_needed)
        # Only checksums prove that a stored item is intact without parsing it.
        self._can_splice = not _PLAIN_SPLICING and (path == ":memory:" or files.has_checksums(self.database.connection))
        self._splicing_context = replace(self._context, splice=self._can_splice)
        self.catalog.on_load = self._maintenance.wake_if_needed
        self._maintenance.wake_if_needed()

    def call(self, operation: str, request: dict[str, Any], namespace: Namespace | None = None) -> dict[str, Any]:
        """Answer a request in the form of DynamoDB's JSON protocol; raises `EngineError` where DynamoDB would answer with an error."""
        if namespace is not None:
            return self._run(self._context_for(namespace), operation, request)
        if operation == "GetItem" and len(request) == 2 and not _PLAIN_GETS:
            # A table name and a key and nothing else: the most frequent request.
            name = request.get("TableName")
            layout = self.catalog.available.get((self.namespace, name)) if type(name) is str else None
            if layout is not None and (row_key := layout.quick_key(request.get("Key"))) is not None:
                try:
                    row = self.database.row(layout.get, (row_key,))
                    return {} if row is None else {"Item": orjson.loads(row[1])}
                except (apsw.Error, orjson.JSONDecodeError):
                    # The table was dropped or created again, or the item is damaged: the general path finds out which.
                    pass
        return self._run(self._context, operation, request)

    def call_json(self, operation: str, body: bytes, namespace: Namespace | None = None) -> bytes:
        """`call` with JSON in and JSON out; stored items are spliced into the response without parsing them."""
        try:
            request = orjson.loads(body)
        except orjson.JSONDecodeError:
            raise serialization() from None
        context = self._splicing_context if namespace is None else self._context_for(namespace, splice=self._can_splice)
        return orjson.dumps(self._run(context, operation, request))

    def _context_for(self, namespace: Namespace, splice: bool = False) -> Context:
        return replace(self._context, namespace=namespace, splice=splice)

    def prepare_call(self, operation: str, request: dict[str, Any]) -> Ready:
        """Split a `call` in two: this part needs no write lock, and the returned function does the rest.

        Callers that hold the write lock meanwhile keep others waiting for less time. Errors in the request are raised by the second part.
        """
        context = self._context
        if operation != "UpdateItem":
            with suppress(EngineError):
                handler_of(operation)  # import it now
            return lambda: self._run(context, operation, request)
        prepare_known_update, prepare_update = _update_steps()
        try:
            update = prepare_known_update(context, request)
            if update is None:
                protocol.check(operation, request)
                update = prepare_update(context, request)
        except (EngineError, InvalidValueError, apsw.Error):
            return lambda: self._run(context, operation, request)
        return lambda: self._run(context, operation, request, update)

    def _run(self, context: Context, operation: str, request: Any, ready: Ready | None = None) -> dict[str, Any]:
        """Answer a request; `ready` is the second part of a call that `prepare_call` has validated."""
        if ready is None and operation == "UpdateItem":
            prepare_known_update, _ = _update_steps()
            ready = prepare_known_update(context, request)
        if ready is None:
            protocol.check(operation, request)
        handler = _OPERATIONS.get(operation) or handler_of(operation)
        try:
            try:
                return handler(context, request) if ready is None else ready()
            except TABLE_GONE as error:
                # Another process may have dropped the table after we read the catalog.
                _require_missing_table(error)
                self.catalog.refresh()
            except EngineError as error:
                # The error may be due to a cached definition that another process has changed.
                if error.code not in _TABLE_DEPENDENT_ERRORS or not self.catalog.refresh():
                    raise
            return handler(context, request)
        except InvalidValueError as fault:
            protocol.check_types(operation, request)
            raise value_error(fault, operation, request) from None
        except EngineError as error:
            if error.code in _ERRORS_AFTER_TYPE_CHECK:
                protocol.check_types(operation, request)
            raise
        except TABLE_GONE as error:
            # Another thread is creating the table and has not committed yet.
            _require_missing_table(error)
            raise not_found() from None
        except (apsw.Error, orjson.JSONDecodeError) as error:
            if integrity.is_damage(error):
                raise self._damage_error(context, request) from error
            raise translate(error) from error

    def _damage_error(self, context: Context, request: Any) -> EngineError:
        """The error for a request that met corrupt data; it names the damaged tables and items."""
        layouts = {layout.table.name: layout for layout in self.catalog.cached_layouts() if layout.table.namespace == context.namespace}
        with self.database.reading() as connection:
            return integrity.explain(layouts, connection, request)

    def is_write(self, operation: str) -> bool:
        """Whether an operation writes items, so that it can join a group commit."""
        return operation in _ITEM_WRITES

    def begin_group(self) -> WriteGroup:
        """Start a transaction that this thread's writes join; they are durable, and may be acknowledged, after its `commit`."""
        return self.database.begin_group()

    def try_begin_group(self) -> WriteGroup | None:
        """`begin_group`, or None if another thread or process is writing."""
        return self.database.try_begin_group()

    def maintain(self) -> None:
        """Run the background work now: backfills, expiry, trimming of the change log, exports and imports."""
        self._maintenance.run_once()

    def close(self) -> None:
        """Stop the maintenance thread and close the file."""
        self._maintenance.stop()
        self.database.close()

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _require_missing_table(error: apsw.Error) -> None:
    if "no such table" not in str(error):
        raise error


@cache
def _update_steps() -> tuple[Callable[[Context, Any], Ready | None], Callable[[Context, dict[str, Any]], Ready]]:
    """The first step of UpdateItem, for requests of a known form and for all; imported late, as all operations are."""
    from gateleg.engine.operations.items import prepare_known_update, prepare_update

    return prepare_known_update, prepare_update


def handler_of(operation: str) -> Handler:
    """The function that handles an operation."""
    if operation in _OPERATIONS:
        return _OPERATIONS[operation]
    for name in _OPERATION_MODULES:
        _OPERATIONS.update(import_module(f"gateleg.engine.operations.{name}").OPERATIONS)
        if operation in _OPERATIONS:
            return _OPERATIONS[operation]
    raise EngineError("UnknownOperationException", None)
