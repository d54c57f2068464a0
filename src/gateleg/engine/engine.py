"""The embedded DynamoDB: a file, and one method that answers requests."""

import time
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any

import apsw
import orjson

from gateleg.engine import checksums, damage, protocol
from gateleg.engine.catalog import Catalog
from gateleg.engine.context import Context
from gateleg.engine.database import Database, Durability, Group
from gateleg.engine.errors import EngineError, ValueFault, not_found, serialization
from gateleg.engine.failures import TABLE_GONE, translate
from gateleg.engine.maintenance import Maintenance
from gateleg.engine.schema import Namespace
from gateleg.engine.wording import value_refusal
from gateleg.plain import is_plain

Handler = Callable[[Context, dict[str, Any]], dict[str, Any]]

#: Rooms of operations, the busiest first. Each is imported when one of its operations is first called: an engine opens without them.
_ROOMS = ("items", "query", "batch", "transactions", "tables", "partiql", "streams", "backups", "recovery", "exports", "imports")

_OPERATIONS: dict[str, Handler] = {}
_PLAIN = is_plain("gets")

#: Errors for which the definition of a table can be the reason.
_BY_DEFINITION = {"ValidationException", "TransactionCanceledException"}

#: Errors that DynamoDB sees only in requests that it could read to their end.
_AFTER_TYPES = {"ValidationException", "ResourceNotFoundException"}

_WRITES = {"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"}


class Engine:
    """DynamoDB in this process, kept in one SQLite file, or in memory with `Engine(":memory:")`.

    Any number of threads may share an engine, and any number of processes may open one file. With `durability="full"` an acknowledged
    write survives power loss; with `"relaxed"` it survives the end of the process, and a power cut may cost the last moments but never
    the file's integrity. `clock` gives the time in seconds; tests pass their own.

    Expired items, new indexes of large tables, exports and imports are seen to by a thread that is there when there is something to do;
    with `background=False` that is left to `maintain`. Exports and imports take the subfolders of `exports` for S3 buckets; by default
    that is a folder of this name beside the file. `vfs` names the file system of SQLite's to use, instead of
    the one that keeps checksums (`checksums.py`).
    `like_local` makes the engine do as DynamoDB Local does where that differs from the service.
    """

    def __init__(
        self,
        path: str = ":memory:",
        *,
        durability: Durability = "full",
        namespace: Namespace | None = None,
        clock: Callable[[], float] = time.time,
        background: bool = True,
        exports: str | Path | None = None,
        vfs: str | None = None,
        like_local: bool = False,
    ) -> None:
        self.path = path
        self.durability: Durability = durability
        self.namespace = namespace or Namespace()
        self.database = Database(path, durability, vfs)
        self.clock = clock

        def to_the_millisecond() -> float:
            return int(clock() * 1000) / 1000

        try:
            self.catalog = Catalog(self.database, to_the_millisecond)
        except (apsw.Error, EngineError) as error:
            self.database.close()
            raise translate(error) from error
        if exports is None and path != ":memory:":
            exports = Path(path).parent / "exports"
        folder = Path(exports) if exports is not None else None
        context = Context(self.database, self.catalog, to_the_millisecond, self.namespace, exports=folder, like_local=like_local)
        self._maintenance = Maintenance(context, background)
        self._context = replace(context, wake=self._maintenance.consider)
        # Without checksums, only reading an item shows whether it is one.
        self._splices = path == ":memory:" or checksums.protected(self.database.connection)
        self._raw = replace(self._context, raw=self._splices)
        self.catalog.on_load = self._maintenance.consider
        self._maintenance.consider()

    def call(self, operation: str, request: dict[str, Any], namespace: Namespace | None = None) -> dict[str, Any]:
        """Answer a request, both as the DynamoDB JSON protocol has them; raises `EngineError` where DynamoDB would answer with an error."""
        if namespace is not None:
            return self._run(self._for(namespace), operation, request)
        if operation == "GetItem" and len(request) == 2 and not _PLAIN:
            # Only a table and a key: the most frequent request of all.
            layout = self.catalog.known_layout(self.namespace, request.get("TableName", ""))
            if layout is not None and (place := layout.quick_key(request.get("Key"))) is not None:
                try:
                    row = self.database.row(layout.get, (place,))
                    return {} if row is None else {"Item": orjson.loads(row[1])}
                except (apsw.Error, orjson.JSONDecodeError):
                    # The table may be gone, or made anew, or the item damaged; the long way finds out.
                    pass
        return self._run(self._context, operation, request)

    def call_json(self, operation: str, body: bytes, namespace: Namespace | None = None) -> bytes:
        """`call`, from JSON text to JSON text: stored items are spliced into the answer without being parsed."""
        try:
            request = orjson.loads(body)
        except orjson.JSONDecodeError:
            raise serialization() from None
        context = self._raw if namespace is None else self._for(namespace, raw=self._splices)
        return orjson.dumps(self._run(context, operation, request))

    def _for(self, namespace: Namespace, raw: bool = False) -> Context:
        return replace(self._context, namespace=namespace, raw=raw)

    def ready(self, operation: str, request: dict[str, Any], statement: Hashable = None) -> Callable[[], dict[str, Any]]:
        """`call` in two steps: what can be done without the rows is done now, and the rest when the result is called.

        For whoever holds other writers off in between. What is wrong with a request is raised by the second step. `statement` stands for
        all of an UpdateItem but its key and its values: of requests with the same one, all else must be the same, and is looked at once.
        """
        context = self._context
        if operation != "UpdateItem":
            with suppress(EngineError):
                handler_of(operation)  # which may have to be imported
            return lambda: self._run(context, operation, request)
        from gateleg.engine.operations.items import ready_by_statement, ready_update

        try:
            update = None if statement is None else ready_by_statement(context, request, statement)
            if update is None:
                protocol.check(operation, request)
                update = ready_update(context, request, statement)
        except (EngineError, ValueFault, apsw.Error):
            return lambda: self._run(context, operation, request)
        return lambda: self._run(context, operation, request, update)

    def _run(self, context: Context, operation: str, request: Any, ready: Callable[[], dict[str, Any]] | None = None) -> dict[str, Any]:
        """The answer; `ready` is the rest of it, where the request has been looked at before."""
        if ready is None:
            protocol.check(operation, request)
        handler = _OPERATIONS.get(operation) or handler_of(operation)
        try:
            try:
                return handler(context, request) if ready is None else ready()
            except TABLE_GONE as error:
                # Another process may have dropped the table between our look at the catalog and our look at its rows.
                _require_missing_table(error)
                self.catalog.refresh()
            except EngineError as error:
                # What was refused was judged by the table as we knew it, which another process may have changed.
                if error.code not in _BY_DEFINITION or not self.catalog.refresh():
                    raise
            return handler(context, request)
        except ValueFault as fault:
            protocol.check_types(operation, request)
            raise value_refusal(fault, operation, request) from None
        except EngineError as error:
            if error.code in _AFTER_TYPES:
                protocol.check_types(operation, request)
            raise
        except TABLE_GONE as error:
            # Another thread is creating the table, and has not committed it.
            _require_missing_table(error)
            raise not_found() from None
        except (apsw.Error, orjson.JSONDecodeError) as error:
            if damage.is_damage(error):
                raise self._damaged(context, request) from error
            raise translate(error) from error

    def _damaged(self, context: Context, request: Any) -> EngineError:
        """The error for a request that met damage, with the names of what is damaged."""
        layouts = {layout.table.name: layout for layout in self.catalog.known() if layout.table.namespace == context.namespace}
        with self.database.reading() as connection:
            return damage.explain(layouts, connection, request)

    def is_write(self, operation: str) -> bool:
        """Whether an operation writes items, so that its commit can be shared with others."""
        return operation in _WRITES

    def begin_group(self) -> Group:
        """Start one transaction for several writes of this thread: none is durable, or acknowledged, before its `commit`."""
        return self.database.begin_group()

    def try_begin_group(self) -> Group | None:
        """`begin_group`, unless that would have to wait for another thread or process that is writing."""
        return self.database.try_begin_group()

    def maintain(self) -> None:
        """Do now what the thread in the background would do: fill indexes, delete expired items, forget old changes, run transfers."""
        self._maintenance.round()

    def close(self) -> None:
        """Finish and close the file."""
        self._maintenance.stop()
        self.database.close()

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _require_missing_table(error: apsw.Error) -> None:
    if "no such table" not in str(error):
        raise error


def handler_of(operation: str) -> Handler:
    """The function that answers an operation."""
    if operation in _OPERATIONS:
        return _OPERATIONS[operation]
    for name in _ROOMS:
        _OPERATIONS.update(import_module(f"gateleg.engine.operations.{name}").OPERATIONS)
        if operation in _OPERATIONS:
            return _OPERATIONS[operation]
    raise EngineError("UnknownOperationException", None)
