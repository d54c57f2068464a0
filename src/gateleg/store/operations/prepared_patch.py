"""A patch that is bound from a prepared update, for programs that make the same patch over and over and know its values on the wire."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel

from gateleg.model import spec_of
from gateleg.model.planning import PreparedUpdate, Write
from gateleg.store.flow import Request
from gateleg.store.operations.write_kinds import reread, returned
from gateleg.store.operations.write_operation import WriteOperation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from gateleg.model import Item, Ref
    from gateleg.model.codec.wire import Value
    from gateleg.model.planning import Joined
    from gateleg.store.error_translation import Expectation
    from gateleg.store.flow import Flow, Reply
    from gateleg.store.setup import Setup

__all__ = ["PreparedPatch", "prepare_patch"]

E = TypeVar("E", bound=BaseModel)


def prepare_patch(example: WriteOperation[Any], examples: Mapping[str, Value], now: datetime) -> PreparedUpdate:
    """Prepare patches from one of them. `examples` are the values in it that differ from patch to patch, by name.

    Time stamps are among them, at `now`. Each value must differ from all others in the patch. The entity may have no unique constraints
    and no counters: what those need differs from item to item.
    """
    write = example.write(now)
    if not write.alone:
        raise ValueError(f"A patch of {write.entity.__name__} is more than one write, which cannot be prepared.")
    return PreparedUpdate.from_example(write.parameters, examples)


# Not frozen: one is made for every claim and completion of a job.
@dataclass(slots=True)
class PreparedPatch(WriteOperation[Any], Generic[E]):
    """A patch by a prepared update.

    `planned` makes the same patch without it: for the reasons of a refusal, and for transactions that ask more of the item. `result` makes
    the item as it is afterwards, where the caller knows it; else the service answers with it.
    """

    kind: type[E]
    update: PreparedUpdate
    key: Item
    values: Mapping[str, Value]
    planned: Callable[[], WriteOperation[E]]
    result: Callable[[], E] | None = None

    @property
    def entity(self) -> type[E]:
        """The class that was given."""
        return self.kind

    @property
    def ref(self) -> Ref[E]:
        """As of the planned patch."""
        return self.planned().ref

    @property
    def verb(self) -> str:
        """patch."""
        return "patch"

    def write(self, now: datetime, joined: Joined | None = None) -> Write[E]:
        """An UpdateItem; that of the planned patch where a transaction asks more of the item."""
        if joined is not None:
            return self.planned().write(now, joined)
        parameters, spec = self.update.bind(self.key, self.values), spec_of(self.kind)
        return Write(self.kind, spec.table, "Update", parameters, prepared=self.update)

    def start(self, setup: Setup) -> Request:
        """One request. The time is among the values."""
        payload = self.update.bind(self.key, self.values)
        payload["TableName"] = setup.name_of(spec_of(self.kind).table)
        payload["ReturnValues"] = returns = "ALL_NEW" if self.result is None else "NONE"
        if "ConditionExpression" in payload:
            payload["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        return Request("UpdateItem", payload, self.pattern, statement=(self.update, returns))

    def expectation(self) -> Expectation:
        """As of the planned patch."""
        return self.planned().expectation()

    def options(self, write: Write[Any]) -> dict[str, Any]:
        """The item as it is then, unless that is known."""
        return {"ReturnValues": "ALL_NEW" if self.result is None else "NONE"}

    def finish(self, request: Request, reply: Reply, setup: Setup) -> E | Flow[E]:
        """The item as it is now."""
        if self.result is not None:
            return self.result()
        item: E | Flow[E] = returned(self.kind, reply["Attributes"], setup)
        return item

    def after(self, write: Write[Any], setup: Setup) -> Flow[E]:
        """The item, read again."""
        item: E = yield from reread(self, setup)
        return item
