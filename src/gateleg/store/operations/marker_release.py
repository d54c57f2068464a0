"""Release the unique values of deleted items: DynamoDB deletes expired items without their markers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.model import spec_of
from gateleg.model.planning import plan_release
from gateleg.store.backoff import retry_conflicts
from gateleg.store.flow import Request
from gateleg.store.operations.operation import Operation
from gateleg.store.transports import ServiceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import BaseModel

    from gateleg.model.keys.plans import KeyPlan
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup


@dataclass(frozen=True, slots=True)
class ReleaseMarkers(Operation[int]):
    """Release the unique values of an item that was deleted."""

    instance: BaseModel

    def flow(self, setup: Setup) -> Flow[int]:
        """One transaction for each marker, on condition that the item does not exist and the marker still belongs to it."""
        released = 0
        for check, release in plan_release(self.instance):
            items = [{str(write.kind): write.request(setup.name_of(write.table))} for write in (check, release)]
            payload = {"TransactItems": items, "ClientRequestToken": setup.token()}
            try:
                yield from retry_conflicts(Request("TransactWriteItems", payload, f"{check.entity.__name__}.release"), setup)
                released += 1
            except ServiceError as error:
                codes = {reason.get("Code") for reason in error.extra.get("CancellationReasons", ())}
                if error.code != "TransactionCanceledException" or not codes <= {"None", "ConditionalCheckFailed"}:
                    raise
        return released

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """The item's partition."""
        spec = spec_of(type(self.instance))
        yield spec.entity, spec.key, spec.ref(self.instance).values


def release_unique(instance: BaseModel, /) -> Operation[int]:
    """Release the unique values of an item that was deleted without its markers, such as by TTL. Returns the number of released values.

    Releases nothing if an item with the same key exists, and no value that another item has taken meanwhile. Safe to repeat.
    """
    return ReleaseMarkers(instance)
