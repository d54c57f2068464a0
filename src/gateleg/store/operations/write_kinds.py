"""The four kinds of writes: put, patch, delete and check."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from pydantic import BaseModel

from gateleg.model import DecodeError, Ref, spec_of
from gateleg.model.expressions import Transition
from gateleg.model.planning import Write, guards_of, plan_check, plan_delete, plan_put, plan_update
from gateleg.store.error_translation import Expectation
from gateleg.store.errors import InvalidOption, NotReturned
from gateleg.store.flow import Request
from gateleg.store.operations.entity_reads import needs_lookup
from gateleg.store.operations.operation import locate
from gateleg.store.operations.reads import Find, decode_flow, get_payload
from gateleg.store.operations.transaction_flow import single_flow
from gateleg.store.operations.write_operation import WriteOperation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from gateleg.model import Action, Condition, Item
    from gateleg.model.planning import Joined
    from gateleg.store.flow import Flow, Response
    from gateleg.store.setup import Setup

__all__ = ["ConditionCheck", "Delete", "Patch", "Put", "invalid_returning", "reread"]

E = TypeVar("E", bound=BaseModel)

_RETURN_VALUES = {"new": "ALL_NEW", "old": "ALL_OLD", "none": "NONE", "changed": "UPDATED_NEW"}


def reread(operation: WriteOperation[Any], setup: Setup) -> Flow[Any]:
    """Read the item of a write again; None if it was deleted meanwhile."""
    spec = spec_of(operation.entity)
    if spec.key.writes_legacy:
        return (yield from Find(operation.ref, consistent=True, required=False).flow(setup))
    response = yield Request("GetItem", get_payload(setup.name_of(spec.table), operation.ref.key, True), operation.pattern)
    try:
        return (yield from decode_flow(spec, response["Item"], setup)) if "Item" in response else None
    except DecodeError as error:
        raise written_unreadable(error) from error


def returned(entity: type[Any], item: Item, setup: Setup) -> Any:
    """Decode the item that a write returned, or return a flow that does if its upcasters need other items."""
    spec = spec_of(entity)
    return decode_flow(spec, item, setup) if needs_lookup(spec, item) else spec.decode(item)


def invalid_returning(value: str, known: Iterable[str]) -> InvalidOption:
    """The error for an invalid `returning=`."""
    return InvalidOption(f"returning={value!r} is not supported here.", fix=f"Use one of {', '.join(map(repr, known))}.")


def written_unreadable(error: DecodeError) -> DecodeError:
    """The error of an update that succeeded, but whose result cannot be decoded."""
    fix = 'Repair the invalid attributes in the same update, or pass returning="none" to get no result.'
    return DecodeError(f"The update succeeded. {error.message}", fix=fix, problems=error.problems, ref=error.ref)


# Like the others, not frozen: every write creates one, and creating a frozen one takes three times as long.
@dataclass(slots=True)
class Put(WriteOperation[Any], Generic[E]):
    """Write a whole instance."""

    instance: E
    create: bool = False
    replaces: E | None = None
    condition: Condition | None = None
    check_version: bool = True
    returning: Literal["new", "old", "none"] = "new"
    #: whether to write version and stamps unchanged, as for a copy
    exact: bool = False

    @property
    def entity(self) -> type[E]:
        """The class of the instance."""
        return type(self.instance)

    @property
    def ref(self) -> Ref[E]:
        """The reference to the instance."""
        return spec_of(self.entity).ref(self.instance)

    @property
    def verb(self) -> str:
        """The name "create" or "put"."""
        return "create" if self.create else "put"

    def write(self, now: datetime, joined: Joined | None = None, *, batched: bool = False) -> Write[E]:
        """The PutItem, or an UpdateItem that keeps counted attributes and the version of an existing item: see `plan_put`."""
        return plan_put(
            self.instance,
            now=now,
            create=self.create,
            replaces=self.replaces,
            condition=self.condition,
            check_version=self.check_version,
            exact=self.exact,
            batched=batched,
            joined=joined,
        )

    def expectation(self) -> Expectation:
        """The item must not exist, or must have the version that was read."""
        spec = spec_of(self.entity)
        checked = spec.version is not None and self.check_version and not self.exact
        version = getattr(self.instance, spec.version.name) if spec.version is not None and checked else None
        fresh = self.create or version == 0
        return Expectation(self.ref, self.verb, absent=fresh, version=None if fresh else version, conditional=self.condition is not None)

    def options(self, write: Write[Any]) -> dict[str, Any] | None:
        """Ask for the old item if the caller wants it, or for the new one if only the service knows its counts."""
        if self.returning == "old":
            return {"ReturnValues": "ALL_OLD"}
        return {"ReturnValues": "ALL_NEW"} if write.kind == "Update" and self.returning == "new" else None

    def finish(self, request: Request, response: Response, setup: Setup) -> Any:
        """The stored instance, or the one that it replaced."""
        write = request.about
        if self.returning == "none":
            return None
        if self.returning == "new" and write.kind == "Put":
            return write.instance
        return returned(self.entity, response["Attributes"], setup) if "Attributes" in response else None

    def after(self, write: Write[Any], setup: Setup) -> Flow[Any]:
        """The result after a transaction, whose response has no items. An item that kept its counts is read again."""
        if self.returning == "old":
            return self.replaces
        if self.returning == "none":
            return None
        if write.kind == "Update":
            return (yield from reread(self, setup))
        return write.instance


@dataclass(slots=True)
class Patch(WriteOperation[Any], Generic[E]):
    """Update attributes of an item."""

    target: Ref[E] | E
    actions: tuple[Action, ...]
    mode: Literal["patch", "upsert"] = "patch"
    known: Mapping[str, Any] = field(default_factory=dict)
    condition: Condition | None = None
    check_version: bool = True
    returning: Literal["new", "old", "none", "changed"] = "new"

    @property
    def entity(self) -> type[E]:
        """The entity of the target."""
        return self.target.entity if isinstance(self.target, Ref) else type(self.target)

    @property
    def ref(self) -> Ref[E]:
        """The reference to the target."""
        return locate(self.target)

    @property
    def verb(self) -> str:
        """The name "patch" or "upsert"."""
        return self.mode

    def write(self, now: datetime, joined: Joined | None = None) -> Write[E]:
        """The UpdateItem."""
        return plan_update(
            self.target,
            self.actions,
            now=now,
            mode=self.mode,
            known=self.known,
            condition=self.condition,
            check_version=self.check_version,
            joined=joined,
        )

    def expectation(self) -> Expectation:
        """The item must exist, have the version that was read, be in a state that allows the transition, and keep its bounds."""
        spec = spec_of(self.entity)
        version = None
        if isinstance(self.target, BaseModel) and spec.version is not None and self.check_version:
            version = getattr(self.target, spec.version.name)
        moves = tuple(action for action in self.actions if isinstance(action, Transition))
        return Expectation(
            self.ref,
            self.mode,
            present=self.mode == "patch",
            version=version,
            moves=moves,
            guards=guards_of(self.actions),
            conditional=self.condition is not None,
        )

    def options(self, write: Write[Any]) -> dict[str, Any] | None:
        """Ask for the values that the caller wants."""
        try:
            return {"ReturnValues": _RETURN_VALUES[self.returning]}
        except KeyError:
            raise invalid_returning(self.returning, _RETURN_VALUES) from None

    def finish(self, request: Request, response: Response, setup: Setup) -> Any:
        """The item after or before the update, or the changed attributes."""
        item, spec = response.get("Attributes"), spec_of(self.entity)
        if self.returning == "none" or item is None:
            return None
        try:
            return spec.decode_partial(item) if self.returning == "changed" else returned(self.entity, item, setup)
        except DecodeError as error:
            raise written_unreadable(error) from error

    def after(self, write: Write[Any], setup: Setup) -> Flow[Any]:
        """The item, read again."""
        if self.returning == "none":
            return None
        if self.returning != "new":
            raise NotReturned(
                f"{self.entity.__name__} has counters or unique constraints, so it is written in a transaction, which returns no values."
            )
        return (yield from reread(self, setup))


@dataclass(slots=True)
class Delete(WriteOperation[Any], Generic[E]):
    """Delete an item."""

    target: Ref[E] | E
    must_exist: bool = False
    condition: Condition | None = None
    check_version: bool = True
    returning: Literal["none", "old"] = "none"

    @property
    def entity(self) -> type[E]:
        """The entity of the target."""
        return self.target.entity if isinstance(self.target, Ref) else type(self.target)

    @property
    def ref(self) -> Ref[E]:
        """The reference to the target."""
        return locate(self.target)

    @property
    def verb(self) -> str:
        """The name "delete"."""
        return "delete"

    def write(self, now: datetime, joined: Joined | None = None) -> Write[E]:
        """The DeleteItem."""
        return plan_delete(
            self.target, must_exist=self.must_exist, condition=self.condition, check_version=self.check_version, joined=joined
        )

    def expectation(self) -> Expectation:
        """The item must have the version that was read."""
        spec = spec_of(self.entity)
        versioned = isinstance(self.target, BaseModel) and spec.version is not None and self.check_version
        version = getattr(self.target, spec.version.name) if versioned and spec.version is not None else None
        return Expectation(self.ref, "delete", present=self.must_exist, version=version, conditional=self.condition is not None)

    def options(self, write: Write[Any]) -> dict[str, Any] | None:
        """Ask for the old item if the caller wants it."""
        return {"ReturnValues": "ALL_OLD"} if self.returning == "old" else None

    def finish(self, request: Request, response: Response, setup: Setup) -> Any:
        """The deleted item, if the caller wants it."""
        item = response.get("Attributes")
        return returned(self.entity, item, setup) if item is not None and self.returning == "old" else None

    def after(self, write: Write[Any], setup: Setup) -> Flow[Any]:
        """The deleted instance, if the caller wants it."""
        yield from ()
        return self.target if self.returning == "old" else None


@dataclass(slots=True)
class ConditionCheck(WriteOperation[None]):
    """Check a condition on an item that a transaction does not write."""

    target: Any
    condition: Condition

    @property
    def entity(self) -> type[BaseModel]:
        """The entity of the target."""
        return self.target.entity if isinstance(self.target, Ref) else type(self.target)

    @property
    def ref(self) -> Ref[Any]:
        """The reference to the target."""
        return locate(self.target)

    @property
    def verb(self) -> str:
        """The name "check"."""
        return "check"

    def write(self, now: datetime, joined: Joined | None = None) -> Write[Any]:
        """The ConditionCheck."""
        return plan_check(self.target, self.condition, joined)

    def expectation(self) -> Expectation:
        """The item must satisfy the condition."""
        return Expectation(self.ref, "check", conditional=True)

    def start(self, setup: Setup) -> Flow[None]:
        """A transaction with only this check, because DynamoDB has no checks outside of transactions."""
        yield from single_flow(self, setup)

    def after(self, write: Write[Any], setup: Setup) -> Flow[None]:
        """No result."""
        yield from ()
