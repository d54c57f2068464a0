"""The base class of all writes of one item.

The four kinds of writes: put, patch, delete and check.

Prepared patches: patches that are bound from a prepared update, for programs that repeat the same patch and know its wire values.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import GeneratorType
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast

from pydantic import BaseModel

from gateleg.model import DecodeError, Ref, spec_of
from gateleg.model.expressions import Transition
from gateleg.model.planning import PreparedUpdate, Write, guards_of, plan_check, plan_delete, plan_put, plan_update
from gateleg.store.error_translation import WriteCondition, explain_refusal
from gateleg.store.errors import InvalidOption, NotReturned, TransactionCanceled
from gateleg.store.flow import Request
from gateleg.store.operations.older_items import migrate_to_current_key, upgrade_item
from gateleg.store.operations.operation import SingleRequest, locate
from gateleg.store.operations.reads import Find, decode_flow, get_payload, needs_lookup, upcast_item
from gateleg.store.operations.transaction_flow import creates, transaction_flow
from gateleg.store.setup import Setup, retry_conflicts
from gateleg.store.transports import ServiceError, Unreachable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from gateleg.model import Condition, Item, UpdateAction
    from gateleg.model.keys import KeyPlan
    from gateleg.model.planning import MergedChanges
    from gateleg.model.wire import Value
    from gateleg.store.flow import Flow, Response

__all__ = ["ConditionCheck", "Delete", "Patch", "PreparedPatch", "Put", "WriteOperation", "prepare_patch", "reread"]

R_co = TypeVar("R_co", covariant=True)
E = TypeVar("E", bound=BaseModel)

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
    #: the name of the method, for metrics and messages
    verb: str

    @property
    def entity(self) -> type[BaseModel]:
        """The entity of the item."""
        raise NotImplementedError

    @property
    def ref(self) -> Ref[Any]:
        """The reference to the item."""
        raise NotImplementedError

    def write(self, now: datetime, merged: MergedChanges | None = None) -> Write[Any]:
        """Plan the write with its markers and counter changes. `merged` contains other changes of the item in its transaction."""
        raise NotImplementedError

    def expectation(self) -> WriteCondition:
        """What the write expects of the stored item, to explain a refusal."""
        raise NotImplementedError

    def options(self, write: Write[Any]) -> dict[str, Any] | None:
        """Further parameters of the single request."""
        return None

    def finish(self, request: Request, response: Response, setup: Setup) -> R_co | Flow[R_co]:
        """The result of the single request, whose `about` is the write; a flow if decoding the response needs other items."""
        raise NotImplementedError

    def after(self, write: Write[Any], setup: Setup) -> R_co | Flow[R_co]:
        """The result after a transaction, whose response has no items; a flow if the item must be read again."""
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
        if spec.key.legacy:
            return self._in_place(write, setup)
        if write.markers or write.counts:
            return self._transaction(write, setup)
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
        kind, name = write.kind, write.entity.__name__
        payload = write.request(setup.names[write.table])
        if options := self.options(write):
            payload |= options
        return Request(_OPERATIONS[kind], payload, f"{name}.{self.verb}", about=write)

    def _in_place(self, write: Write[Any], setup: Setup) -> Flow[R_co]:
        """Write an item that may be stored under a legacy key."""
        key, returns_old = spec_of(write.entity).key, getattr(self, "returning", "") == "old"
        if key.writes_legacy:
            # A transaction does not return items.
            old = (yield from Find(self.ref, consistent=True, required=False).flow(setup)) if returns_old else None
            result = yield from self._transaction(write, setup)
            return cast("R_co", old) if returns_old else result
        # An item that is stored in the meantime under another of its keys would be a second copy: the transaction checks that.
        if not write.alone or (creates(self) and not returns_old):
            return (yield from self._transaction(write, setup))
        yield from migrate_to_current_key(self.ref, setup)
        request = self._request(write, setup)
        try:
            response = yield request
        except ServiceError as error:
            return (yield from self.refused(request, error, setup))
        return (yield from self._finished(request, response, setup))

    def _transaction(self, write: Write[Any], setup: Setup) -> Flow[R_co]:
        """Write the item with its markers and counters. Raises the error of the operation rather than `TransactionCanceled`."""
        try:
            yield from transaction_flow([self], setup, writes=[write])
        except TransactionCanceled as canceled:
            raise (canceled.reasons[0] or canceled) from canceled.__cause__
        result = self.after(write, setup)
        if type(result) is GeneratorType:
            result = yield from result
        return cast("R_co", result)

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """The item's partition."""
        ref = self.ref
        yield ref.entity, spec_of(ref.entity).key, ref.values


_RETURN_VALUES = {"new": "ALL_NEW", "old": "ALL_OLD", "none": "NONE", "changed": "UPDATED_NEW"}


def reread(operation: WriteOperation[Any], setup: Setup, key: Item | None = None) -> Flow[Any]:
    """Read the item of a write again; None if it was deleted meanwhile. `key` is the item's, if it is known."""
    spec = spec_of(operation.entity)
    if spec.key.writes_legacy:
        return (yield from Find(operation.ref, consistent=True, required=False).flow(setup))
    payload = get_payload(setup.names[spec.table], operation.ref.key if key is None else key, True)
    response = yield Request("GetItem", payload, f"{spec.name}.{operation.verb}")
    item = response.get("Item")
    if item is None:
        return None
    try:
        return (yield from decode_flow(spec, item, setup)) if spec.lookups else spec.decode(item)
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
    def verb(self) -> Literal["create", "put"]:  # type: ignore[override]
        """The name of the method."""
        return "create" if self.create else "put"

    def write(self, now: datetime, merged: MergedChanges | None = None, *, batched: bool = False) -> Write[E]:
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
            merged=merged,
        )

    def expectation(self) -> WriteCondition:
        """The item must not exist, or must have the version that was read."""
        spec = spec_of(self.entity)
        checked = spec.version is not None and self.check_version and not self.exact
        version = getattr(self.instance, spec.version.name) if spec.version is not None and checked else None
        fresh = self.create or version == 0
        return WriteCondition(self.ref, self.verb, absent=fresh, version=None if fresh else version, conditional=self.condition is not None)

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

    def after(self, write: Write[Any], setup: Setup) -> Any:
        """The stored instance, or the one that it replaced. An item that kept its counts is read again."""
        if self.returning == "old":
            return self.replaces
        if self.returning == "none":
            return None
        return reread(self, setup, write.key) if write.kind == "Update" else write.instance


class _TargetedWrite(WriteOperation[R_co], Generic[R_co]):
    """A write whose target is an instance or a reference."""

    __slots__ = ()

    target: Any

    @property
    def entity(self) -> type[Any]:
        """The entity of the target."""
        return self.target.entity if isinstance(self.target, Ref) else type(self.target)

    @property
    def ref(self) -> Ref[Any]:
        """The reference to the target."""
        return locate(self.target)


@dataclass(slots=True)
class Patch(_TargetedWrite[Any], Generic[E]):
    """Update attributes of an item."""

    target: Ref[E] | E
    actions: tuple[UpdateAction, ...]
    verb: Literal["patch", "upsert"] = "patch"
    known: Mapping[str, Any] = field(default_factory=dict)
    condition: Condition | None = None
    check_version: bool = True
    returning: Literal["new", "old", "none", "changed"] = "new"

    def write(self, now: datetime, merged: MergedChanges | None = None) -> Write[E]:
        """The UpdateItem."""
        return plan_update(
            self.target,
            self.actions,
            now=now,
            mode=self.verb,
            known=self.known,
            condition=self.condition,
            check_version=self.check_version,
            merged=merged,
        )

    def expectation(self) -> WriteCondition:
        """The item must exist, have the version that was read, be in a state that allows the transition, and keep its bounds."""
        spec = spec_of(self.entity)
        version = None
        if isinstance(self.target, BaseModel) and spec.version is not None and self.check_version:
            version = getattr(self.target, spec.version.name)
        moves = tuple(action for action in self.actions if isinstance(action, Transition))
        return WriteCondition(
            self.ref,
            self.verb,
            present=self.verb == "patch",
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

    def after(self, write: Write[Any], setup: Setup) -> Flow[Any] | None:
        """The item, read again."""
        if self.returning == "none":
            return None
        if self.returning != "new":
            raise NotReturned(
                f"{self.entity.__name__} has counters or unique constraints, so it is written in a transaction, which returns no values."
            )
        return reread(self, setup, write.key)


@dataclass(slots=True)
class Delete(_TargetedWrite[Any], Generic[E]):
    """Delete an item."""

    verb = "delete"

    target: Ref[E] | E
    must_exist: bool = False
    condition: Condition | None = None
    check_version: bool = True
    returning: Literal["none", "old"] = "none"

    def write(self, now: datetime, merged: MergedChanges | None = None) -> Write[E]:
        """The DeleteItem."""
        return plan_delete(
            self.target, must_exist=self.must_exist, condition=self.condition, check_version=self.check_version, merged=merged
        )

    def expectation(self) -> WriteCondition:
        """The item must have the version that was read."""
        spec = spec_of(self.entity)
        versioned = isinstance(self.target, BaseModel) and spec.version is not None and self.check_version
        version = getattr(self.target, spec.version.name) if versioned and spec.version is not None else None
        return WriteCondition(self.ref, "delete", present=self.must_exist, version=version, conditional=self.condition is not None)

    def options(self, write: Write[Any]) -> dict[str, Any] | None:
        """Ask for the old item if the caller wants it."""
        return {"ReturnValues": "ALL_OLD"} if self.returning == "old" else None

    def finish(self, request: Request, response: Response, setup: Setup) -> Any:
        """The deleted item, if the caller wants it."""
        item = response.get("Attributes")
        return returned(self.entity, item, setup) if item is not None and self.returning == "old" else None

    def after(self, write: Write[Any], setup: Setup) -> Any:
        """The deleted instance, if the caller wants it."""
        return self.target if self.returning == "old" else None


@dataclass(slots=True)
class ConditionCheck(_TargetedWrite[None]):
    """Check a condition on an item that a transaction does not write."""

    verb = "check"

    target: Any
    condition: Condition

    def write(self, now: datetime, merged: MergedChanges | None = None) -> Write[Any]:
        """The ConditionCheck."""
        return plan_check(self.target, self.condition)

    def expectation(self) -> WriteCondition:
        """The item must satisfy the condition."""
        return WriteCondition(self.ref, "check", conditional=True)

    def start(self, setup: Setup) -> Flow[None]:
        """A transaction with only this check, because DynamoDB has no checks outside of transactions."""
        return self._transaction(self.write(setup.now()), setup)

    def after(self, write: Write[Any], setup: Setup) -> None:
        """No result."""


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

    verb = "patch"

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

    def write(self, now: datetime, merged: MergedChanges | None = None) -> Write[E]:
        """The UpdateItem. With `merged`, that of the ordinary patch."""
        if merged is not None:
            return self.planned().write(now, merged)
        parameters, spec = self.update.bind(self.key, self.values), spec_of(self.kind)
        return Write(self.kind, spec.table, "Update", parameters)

    def start(self, setup: Setup) -> Request:
        """The UpdateItem request."""
        payload = self.update.bind(self.key, self.values)
        payload["TableName"] = setup.name_of(spec_of(self.kind).table)
        payload["ReturnValues"] = "ALL_NEW" if self.result is None else "NONE"
        if "ConditionExpression" in payload:
            payload["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        return Request("UpdateItem", payload, self.pattern)

    def expectation(self) -> WriteCondition:
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
        return reread(self, setup, write.key)
