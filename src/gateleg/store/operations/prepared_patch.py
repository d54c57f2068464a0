"""Prepared patches: patches that are bound from a prepared update, for programs that repeat the same patch and know its wire values."""

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
    from gateleg.store.flow import Flow, Response
    from gateleg.store.setup import Setup

__all__ = ["PreparedPatch", "prepare_patch"]

E = TypeVar("E", bound=BaseModel)


def prepare_patch(example: WriteOperation[Any], examples: Mapping[str, Value], now: datetime) -> PreparedUpdate:
    """Prepare patches from an example. `examples` are the values in it that differ from patch to patch, by name.

    They include the time stamps, which are `now` in the example. Each must differ from all other values in the patch. The entity must not
    have unique constraints or counters, because their writes differ from item to item. Raises `ValueError` otherwise.
    """
    write = example.write(now)
    if not write.alone:
        raise ValueError(f"Patches of {write.entity.__name__} cannot be prepared, because they need more than one write.")
    return PreparedUpdate.from_example(write.parameters, examples)


# Not frozen: every claim and completion of a job creates one.
@dataclass(slots=True)
class PreparedPatch(WriteOperation[Any], Generic[E]):
    """A patch that binds a prepared update.

    `planned` builds the same patch as an ordinary one, to explain a refusal, and for transactions that also check the item or change its
    counters. `result` builds the item after the patch, if the caller knows it; otherwise the service returns it.
    """

    kind: type[E]
    update: PreparedUpdate
    key: Item
    values: Mapping[str, Value]
    planned: Callable[[], WriteOperation[E]]
    result: Callable[[], E] | None = None

    @property
    def entity(self) -> type[E]:
        """The entity of the patched item."""
        return self.kind

    @property
    def ref(self) -> Ref[E]:
        """The reference of the ordinary patch."""
        return self.planned().ref

    @property
    def verb(self) -> str:
        """The name "patch"."""
        return "patch"

    def write(self, now: datetime, joined: Joined | None = None) -> Write[E]:
        """The UpdateItem. With `joined`, that of the ordinary patch."""
        if joined is not None:
            return self.planned().write(now, joined)
        parameters, spec = self.update.bind(self.key, self.values), spec_of(self.kind)
        return Write(self.kind, spec.table, "Update", parameters, prepared=self.update)

    def start(self, setup: Setup) -> Request:
        """The UpdateItem request."""
        payload = self.update.bind(self.key, self.values)
        payload["TableName"] = setup.name_of(spec_of(self.kind).table)
        payload["ReturnValues"] = returns = "ALL_NEW" if self.result is None else "NONE"
        if "ConditionExpression" in payload:
            payload["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        return Request("UpdateItem", payload, self.pattern, statement=(self.update, returns))

    def expectation(self) -> Expectation:
        """The expectation of the ordinary patch."""
        return self.planned().expectation()

    def options(self, write: Write[Any]) -> dict[str, Any]:
        """Ask for the item after the patch, unless it is known."""
        return {"ReturnValues": "ALL_NEW" if self.result is None else "NONE"}

    def finish(self, request: Request, response: Response, setup: Setup) -> E | Flow[E]:
        """The item after the patch."""
        if self.result is not None:
            return self.result()
        item: E | Flow[E] = returned(self.kind, response["Attributes"], setup)
        return item

    def after(self, write: Write[Any], setup: Setup) -> Flow[E]:
        """The item, read again."""
        item: E = yield from reread(self, setup)
        return item
