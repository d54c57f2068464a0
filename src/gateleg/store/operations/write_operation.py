"""What the writing verbs make: a write of one item, alone or in a transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from gateleg.model import spec_of
from gateleg.store.backoff import settled
from gateleg.store.error_translation import explained
from gateleg.store.errors import DuplicateTarget
from gateleg.store.flow import Request
from gateleg.store.operations.legacy_keys import migrate_to_current_key
from gateleg.store.operations.operation import SingleRequest
from gateleg.store.setup import Setup
from gateleg.store.sizes import check_size
from gateleg.store.transports import ServiceError, Unreachable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from pydantic import BaseModel

    from gateleg.model import Ref
    from gateleg.model.keys.plans import KeyPlan
    from gateleg.model.planning import Joined, Write
    from gateleg.store.error_translation import Expectation
    from gateleg.store.flow import Flow, Reply

R_co = TypeVar("R_co", covariant=True)
_OPERATIONS = {"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem"}


class WriteOperation(SingleRequest[R_co], Generic[R_co]):
    """A write of one item, alone or in a transaction."""

    __slots__ = ()

    @property
    def entity(self) -> type[BaseModel]:
        """What is written."""
        raise NotImplementedError

    @property
    def ref(self) -> Ref[Any]:
        """Which item is written."""
        raise NotImplementedError

    @property
    def verb(self) -> str:
        """What is done, for metrics and messages."""
        raise NotImplementedError

    def write(self, now: datetime) -> Write[Any]:
        """The plan of the write, with all that goes along."""
        raise NotImplementedError

    def join(self, now: datetime, joined: Joined) -> Write[Any]:
        """The plan of the write with what else a transaction asks of the item."""
        raise DuplicateTarget(f"{self.pattern} cannot be combined with checks or counters of the same item.", fix="Write it by itself.")

    def expectation(self) -> Expectation:
        """What the write takes for granted, to explain a refusal."""
        raise NotImplementedError

    def options(self) -> dict[str, Any]:
        """Further members of the single request."""
        return {}

    def result(self, write: Write[Any], reply: Reply) -> R_co:
        """The result of the single request."""
        raise NotImplementedError

    def after(self, write: Write[Any], setup: Setup) -> Flow[R_co]:
        """The result when the write was part of a transaction, whose answer has no items."""
        raise NotImplementedError

    @property
    def pattern(self) -> str:
        """The label in metrics."""
        return f"{self.entity.__name__}.{self.verb}"

    def start(self, setup: Setup) -> Request | Flow[R_co]:
        """One request; a transaction when markers or counters go along. Items under an older key are brought home first."""
        write = self.write(setup.now())
        if not write.alone or spec_of(write.entity).key.legacy:
            return self._steps(write, setup)
        return self._request(write, setup)

    def finish(self, request: Request, reply: Reply, setup: Setup) -> R_co:
        """The result of the single request."""
        return self.result(request.about, reply)

    def refused(self, request: Request, error: ServiceError | Unreachable, setup: Setup) -> Flow[R_co]:
        """The result after all, when only other transactions were in the way; else why the write was refused."""
        if isinstance(error, Unreachable):
            raise error
        try:
            reply = yield from settled(request, setup, error)
        except ServiceError as last:
            if last.code == "ConditionalCheckFailedException":
                raise explained(self.expectation(), last.extra.get("Item"), request) from last
            raise
        return self.result(request.about, reply)

    def params(self, prefix: str = "") -> dict[str, Any]:
        """The request that writes, as it would be sent: a dry run."""
        setup = Setup(prefix=prefix)
        write = self.write(setup.now())
        first = self._request(write, setup) if write.alone else next(self._transaction(write, setup))
        assert isinstance(first, Request)
        return first.payload

    def _request(self, write: Write[Any], setup: Setup) -> Request:
        # The write knows its entity; to ask `ref` for it would build the key once more.
        name, kind = write.entity.__name__, write.kind
        payload = write.request(setup.name_of)
        if options := self.options():
            payload |= options
        request = Request(_OPERATIONS[kind], payload, f"{name}.{self.verb}", about=write)
        if kind == "Put":
            check_size(payload["Item"], name, request)
        return request

    def _steps(self, write: Write[Any], setup: Setup) -> Flow[R_co]:
        if spec_of(write.entity).key.legacy:
            yield from migrate_to_current_key(self.ref, setup)
        if not write.alone:
            return (yield from self._transaction(write, setup))
        request = self._request(write, setup)
        try:
            reply = yield request
        except ServiceError as error:
            return (yield from self.refused(request, error, setup))
        return self.result(write, reply)

    def _transaction(self, write: Write[Any], setup: Setup) -> Flow[R_co]:
        from gateleg.store.operations.transactions import single_flow

        yield from single_flow(self, setup, write)
        return (yield from self.after(write, setup))

    def places(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """The item's partition."""
        ref = self.ref
        yield ref.entity, spec_of(ref.entity).key, ref.values
