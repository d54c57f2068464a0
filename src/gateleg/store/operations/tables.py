"""The life of tables: create, wait, let items expire, delete."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.model.errors import BadName
from gateleg.model.tables import TableLayout
from gateleg.store.errors import InvalidOption, OutOfScope, TimedOut
from gateleg.store.flow import Pause, Request
from gateleg.store.operations.operation import Operation
from gateleg.store.transports import ServiceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import BaseModel

    from gateleg.model import Table
    from gateleg.model.keys.plans import KeyPlan
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup

__all__ = ["describe", "ensure_tables"]

#: Seconds between two looks at a table that is being made or deleted, and how many looks there are.
_INTERVAL = 1.0
_LOOKS = 300
_SHORTEST_NAME = 3


class _TableOperation(Operation[list[str]]):
    __slots__ = ()

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """All of it: no scope has room for a table."""
        raise OutOfScope("Tables belong to no partition.")


@dataclass(frozen=True, slots=True)
class CreateTables(_TableOperation):
    """Tables that are to be there."""

    tables: tuple[Table, ...]
    ensure: bool = False

    def flow(self, setup: Setup) -> Flow[list[str]]:
        """Create all that is missing, wait until all are active, then switch on TTL. The result is the names of those created."""
        created: list[str] = []
        for table in self.tables:
            _check_names(table, setup.name_of(table))
            created += yield from self._create(table, setup)
        for table in self.tables:
            yield from wait_active(setup.name_of(table))
            yield from _enable_ttl(table, setup)
        return created

    def _create(self, table: Table, setup: Setup) -> Flow[list[str]]:
        if self.ensure and (yield from describe(setup.name_of(table))) is not None:
            return []
        try:
            yield Request("CreateTable", {**table.definition(), "TableName": setup.name_of(table)}, f"{table.name} create")
        except ServiceError as error:
            # Another process that starts at the same moment may have been faster.
            if self.ensure and error.code == "ResourceInUseException":
                return []
            raise
        return [setup.name_of(table)]


@dataclass(frozen=True, slots=True)
class DeleteTables(_TableOperation):
    """Tables that are to be gone."""

    tables: tuple[Table, ...]

    def flow(self, setup: Setup) -> Flow[list[str]]:
        """Delete all that are there and wait until they are gone. The result is the names of those deleted."""
        names = []
        for table in self.tables:
            name = setup.name_of(table)
            try:
                yield Request("DeleteTable", {"TableName": name}, f"{table.name} delete")
                names.append(name)
            except ServiceError as error:
                if error.code != "ResourceNotFoundException":
                    raise
        for name in names:
            yield from wait_gone(name)
        return names


@dataclass(frozen=True, slots=True)
class TableStates(Operation[dict[str, str]]):
    """How tables are."""

    tables: tuple[Table, ...]

    def flow(self, setup: Setup) -> Flow[dict[str, str]]:
        """One DescribeTable each."""
        states: dict[str, str] = {}
        for table in self.tables:
            name = setup.name_of(table)
            description = yield from describe(name)
            states[name] = "MISSING" if description is None else description["TableStatus"]
        return states

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """None: it touches no items."""
        yield from ()


def _check_names(table: Table, name: str) -> None:
    """Refuse names that are too short for DynamoDB. A table's depends on the prefix, so its declaration cannot know."""
    for one in (name, *(index.name for index in table.indexes)):
        if len(one) < _SHORTEST_NAME:
            raise BadName(f"The name {one!r} of {'a table' if one == name else f'an index of {name}'} is too short.")


def describe(name: str) -> Flow[dict[str, Any] | None]:
    """A table's description, or None when there is no such table."""
    try:
        reply = yield Request("DescribeTable", {"TableName": name}, "describe")
    except ServiceError as error:
        if error.code == "ResourceNotFoundException":
            return None
        raise
    description: dict[str, Any] = reply["Table"]
    return description


def wait_active(name: str) -> Flow[None]:
    """Wait until a table and all its indexes can be used."""
    for _ in range(_LOOKS):
        table = yield from describe(name)
        if table is not None and table["TableStatus"] == "ACTIVE":
            indexes = table.get("GlobalSecondaryIndexes", ())
            if all(index.get("IndexStatus", "ACTIVE") == "ACTIVE" for index in indexes):
                return
        yield Pause(_INTERVAL)
    raise TimedOut(f"The table {name} is still not active.", fix="Look at its status; creating indexes of large tables takes long.")


def wait_gone(name: str) -> Flow[None]:
    """Wait until a table is gone."""
    for _ in range(_LOOKS):
        if (yield from describe(name)) is None:
            return
        yield Pause(_INTERVAL)
    raise TimedOut(f"The table {name} is still there.", fix="Look at its status.")


def _enable_ttl(table: Table, setup: Setup) -> Flow[None]:
    """Let items expire, where an entity says so."""
    attribute, name = table.ttl(), setup.name_of(table)
    if attribute is None or (yield from _expires(name)):
        return
    specification = {"Enabled": True, "AttributeName": attribute}
    try:
        yield Request("UpdateTimeToLive", {"TableName": name, "TimeToLiveSpecification": specification}, f"{table.name} ttl")
    except ServiceError as error:
        # Another process that starts at the same moment may have been faster; then there is nothing left to do.
        if error.code not in ("ValidationException", "ResourceInUseException") or not (yield from _expires(name)):
            raise


def _expires(name: str) -> Flow[bool]:
    """Whether TTL is enabled for a table, or is being enabled."""
    reply = yield Request("DescribeTimeToLive", {"TableName": name}, "describe ttl")
    return reply["TimeToLiveDescription"].get("TimeToLiveStatus") in ("ENABLED", "ENABLING")


def _tables(given: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tables of a call; whoever gives an entity means its table."""
    for one in given:
        if hasattr(one, "__table__"):
            raise InvalidOption(f"{one.__name__} is an entity, not a table.", fix=f"Give its table: {one.__name__}.__table__.")
        if not isinstance(one, TableLayout):
            raise InvalidOption(f"{one!r} is not a table.", fix='Give a Table, such as orders = Table("Orders", hash="order_id").')
    return given


def create_tables(*tables: Table) -> Operation[list[str]]:
    """Create tables with their indexes and TTL, and wait until they are active; `TableBusy` if one exists already."""
    return CreateTables(_tables(tables))


def ensure_tables(*tables: Table) -> Operation[list[str]]:
    """Create those of the tables that are missing. The result is the names of the tables that were created.

    A table that is there stays as it is, whatever its declaration says.
    """
    return CreateTables(_tables(tables), ensure=True)


def delete_tables(*tables: Table) -> Operation[list[str]]:
    """Delete tables with everything in them, and wait until they are gone. Only a backup can restore them."""
    return DeleteTables(_tables(tables))


def table_states(*tables: Table) -> Operation[dict[str, str]]:
    """The state of each table by its name in the account, such as ACTIVE, or MISSING: what a health check asks."""
    return TableStates(_tables(tables))
