"""The base class of all writes of one item."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from types import GeneratorType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from gateleg.model import DecodeError, spec_of
from gateleg.store.backoff import retry_conflicts
from gateleg.store.error_translation import explain_refusal
from gateleg.store.flow import Request
from gateleg.store.operations.entity_reads import needs_lookup, upcast_item
from gateleg.store.operations.legacy_keys import migrate_to_current_key
from gateleg.store.operations.operation import SingleRequest
from gateleg.store.operations.reads import Find
from gateleg.store.operations.schema_upgrades import upgrade_item
from gateleg.store.operations.transaction_entries import creates
from gateleg.store.operations.transaction_flow import single_flow
from gateleg.store.setup import Setup
from gateleg.store.transports import ServiceError, Unreachable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import BaseModel

    from gateleg.model import Condition, Item, Ref
    from gateleg.model.keys.plans import KeyPlan
    from gateleg.model.planning import Joined, Write
    from gateleg.store.error_translation import Expectation
    from gateleg.store.flow import Flow, Response

__all__ = ["WriteOperation"]

R_co = TypeVar("R_co", covariant=True)
#: A placeholder for the time of writes that do not depend on it.
TIMELESS = datetime.fromtimestamp(0, UTC)
#: the maximum number of attempts to write an item of an older schema that others keep changing
_ATTEMPTS = 5
_OPERATIONS = {"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem"}


class WriteOperation(SingleRequest[R_co], Generic[R_co]):
    """A write of one item as a value, from `create`, `put`, `patch`, `upsert`, `delete` or `check`.

    Run it with `store.run(...)`, or with others in `store.transact([...])`; `params()` is a dry run.
    """

    __slots__ = ()

    #: the condition that the caller gave
    condition: Condition | None

    @property
    def entity(self) -> type[BaseModel]:
        """The entity of the item."""
        raise NotImplementedError

    @property
    def ref(self) -> Ref[Any]:
        """The reference to the item."""
        raise NotImplementedError

    @property
    def verb(self) -> str:
        """The name of the method, for metrics and messages."""
        raise NotImplementedError

    def write(self, now: datetime, joined: Joined | None = None) -> Write[Any]:
        """Plan the write with its markers and counter changes. `joined` contains other changes of the item in its transaction."""
        raise NotImplementedError

    def expectation(self) -> Expectation:
        """What the write expects of the stored item, to explain a refusal."""
        raise NotImplementedError

    def options(self, write: Write[Any]) -> dict[str, Any] | None:
        """Further parameters of the single request."""
        return None

    def finish(self, request: Request, response: Response, setup: Setup) -> R_co | Flow[R_co]:
        """The result of the single request, whose `about` is the write; a flow if decoding the response needs other items."""
        raise NotImplementedError

    def after(self, write: Write[Any], setup: Setup) -> Flow[R_co]:
        """The result after a transaction, whose response has no items."""
        raise NotImplementedError

    @property
    def pattern(self) -> str:
        """The name in metrics, such as `Job.patch`."""
        return f"{self.entity.__name__}.{self.verb}"

    def start(self, setup: Setup) -> Request | Flow[R_co]:
        """One request, or a transaction if markers or counters are written too. An item under a legacy key is moved first."""
        spec = spec_of(self.entity)
        # Reading the clock takes longer than planning a small write.
        write = self.write(setup.now() if spec.timed else TIMELESS)
        if write.markers or write.counts or spec.key.legacy:
            return self._steps(write, setup)
        return self._request(write, setup)

    def refused(self, request: Request, error: ServiceError | Unreachable, setup: Setup) -> Flow[R_co]:
        """Retry if the write conflicted with other transactions or met an item of an older schema; else raise an error that explains it."""
        if isinstance(error, Unreachable):
            raise error
        last_error: ServiceError | None = error
        for _ in range(_ATTEMPTS):
            try:
                response = yield from retry_conflicts(request, setup, last_error)
                return (yield from self._finished(request, response, setup))
            except ServiceError as last:
                if last.code != "ConditionalCheckFailedException":
                    raise
                error, last_error = last, None
            if not (yield from upgrade_item(spec_of(self.entity), request.payload, error.extra.get("Item"), setup)):
                break
        raise explain_refusal(self.expectation(), (yield from self._stored(error, setup)), request) from error

    def _stored(self, refusal: ServiceError, setup: Setup) -> Flow[Item | None]:
        """The stored item that failed the condition of a write; in its current schema, unless its upcasters fail."""
        item: Item | None = refusal.extra.get("Item")
        if item is not None and needs_lookup(spec_of(self.entity), item):
            with contextlib.suppress(DecodeError):
                return (yield from upcast_item(spec_of(self.entity), item, setup))
        return item

    def _finished(self, request: Request, response: Response, setup: Setup) -> Flow[R_co]:
        """The result of the single request, inside a flow."""
        result = self.finish(request, response, setup)
        if isinstance(result, GeneratorType):
            result = yield from result
        return cast("R_co", result)

    def params(self, prefix: str = "") -> dict[str, Any]:
        """The parameters of the request that writes, without sending it. `prefix` precedes table names."""
        setup = Setup(prefix=prefix)
        write = self.write(setup.now())
        if write.alone and not spec_of(self.entity).key.writes_legacy:
            return self._request(write, setup).payload
        flow = self._transaction(write, setup)
        step = next(flow)
        while isinstance(step, Request) and step.operation == "GetItem":
            # Nothing is stored under a legacy key.
            step = flow.send({})
        assert isinstance(step, Request)
        return step.payload

    def _request(self, write: Write[Any], setup: Setup) -> Request:
        kind, name, prepared = write.kind, write.entity.__name__, write.prepared
        payload = write.request(setup.names[write.table])
        if options := self.options(write):
            payload |= options
        statement = None if prepared is None else (prepared, payload.get("ReturnValues"))
        return Request(_OPERATIONS[kind], payload, f"{name}.{self.verb}", 0, statement, write)

    def _steps(self, write: Write[Any], setup: Setup) -> Flow[R_co]:
        key, returns_old = spec_of(write.entity).key, getattr(self, "returning", "") == "old"
        if key.writes_legacy:
            # A transaction does not return items.
            old = (yield from Find(self.ref, consistent=True, required=False).flow(setup)) if returns_old else None
            result = yield from self._transaction(write, setup)
            return cast("R_co", old) if returns_old else result
        # An item that is stored in the meantime under another of its keys would be a second copy: the transaction checks that.
        if not write.alone or (key.legacy and creates(self) and not returns_old):
            return (yield from self._transaction(write, setup))
        if key.legacy:
            yield from migrate_to_current_key(self.ref, setup)
        request = self._request(write, setup)
        try:
            response = yield request
        except ServiceError as error:
            return (yield from self.refused(request, error, setup))
        return (yield from self._finished(request, response, setup))

    def _transaction(self, write: Write[Any], setup: Setup) -> Flow[R_co]:
        yield from single_flow(self, setup, write)
        return (yield from self.after(write, setup))

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """The item's partition."""
        ref = self.ref
        yield ref.entity, spec_of(ref.entity).key, ref.values
