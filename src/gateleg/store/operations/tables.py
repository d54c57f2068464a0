"""Create and delete tables, enable TTL, and check whether tables can be used (`health`, for hosts before they accept requests)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.errors import shown
from gateleg.model import Table
from gateleg.model.errors import BadName
from gateleg.store.error_translation import translated
from gateleg.store.errors import InvalidOption, KeysDiffer, OutOfScope, TimedOut
from gateleg.store.flow import Pause, Request
from gateleg.store.operations.operation import Operation
from gateleg.store.transports import ServiceError, Unreachable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pydantic import BaseModel

    from gateleg.model.keys import KeyPlan
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup

__all__ = ["check_keys", "describe", "ensure_tables", "key_differences"]

#: Seconds between checks of a table that is being created or deleted, and the maximum number of checks.
_POLL_SECONDS = 1.0
_MAX_POLLS = 300
_MIN_NAME_LENGTH = 3
_USABLE = ("ACTIVE", "UPDATING")
_KINDS = ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")
#: Types of key attributes, in words.
_TYPES = {"S": "a string", "N": "a number", "B": "binary"}


def create_tables(*tables: Table) -> Operation[list[str]]:
    """Create tables with their indexes and TTL, and wait until they are active. Returns their names. Raises `TableBusy` if one exists."""
    return CreateTables(check_tables(tables))


def ensure_tables(*tables: Table) -> Operation[list[str]]:
    """Create the tables that do not exist, and wait until all are active. Returns the names of the created tables.

    Existing tables are not changed, even if their indexes differ from the declaration; only TTL is enabled if an entity has a TTL
    attribute. Raises `KeysDiffer`, and creates nothing, if a table has another key than declared.
    """
    return CreateTables(check_tables(tables), ensure=True)


def delete_tables(*tables: Table) -> Operation[list[str]]:
    """Delete tables with all their items, and wait until they are deleted. Returns the names of those that existed.

    Only a backup can restore them.
    """
    return DeleteTables(check_tables(tables))


def table_states(*tables: Table) -> Operation[dict[str, str]]:
    """The status of each table by its deployed name, such as ACTIVE; MISSING if it does not exist."""
    return TableStates(check_tables(tables))


def health(*tables: Table) -> Operation[Health]:
    """Check that the service answers and that these tables can be used: `store.health(jobs).ok`.

    Does not raise errors of the service; they are in `problems` of the result.
    """
    return HealthCheck(check_tables(tables))


def check_tables(tables: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the tables of a call; raise `InvalidOption` for anything else."""
    for table in tables:
        check_table(table)
    return tables


def check_table(table: Any) -> None:
    """Raise `InvalidOption` for anything but a table."""
    if isinstance(table, type) and hasattr(table, "__table__"):
        raise InvalidOption(f"{table.__name__} is an entity, not a table.", fix=f"Give its table: {table.__name__}.__table__.")
    if isinstance(table, list | tuple | set) and all(isinstance(member, Table) for member in table):
        raise InvalidOption(
            f"A {type(table).__name__} of tables was given in place of a table.", fix="Write *tables, or one after another."
        )
    if not isinstance(table, Table):
        raise InvalidOption(f"{shown(table)} is not a table.", fix='Give a Table, such as orders = Table("Orders", hash="order_id").')


class _TableOperation(Operation[list[str]]):
    __slots__ = ()

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """Raises `OutOfScope`: a scoped store cannot use whole tables."""
        raise OutOfScope("A scoped store cannot create or delete tables.")


@dataclass(frozen=True, slots=True)
class CreateTables(_TableOperation):
    """Create tables; with `ensure`, only those that do not exist."""

    tables: tuple[Table, ...]
    ensure: bool = False

    def flow(self, setup: Setup) -> Flow[list[str]]:
        """Create the tables, wait until all are active, then enable TTL. Returns the names of the created tables."""
        for table in self.tables:
            _check_names(table, setup.name_of(table))
        existing = (yield from check_keys(self.tables, setup)) if self.ensure else frozenset()
        created: list[str] = []
        for table in self.tables:
            if table not in existing:
                created += yield from self._create(table, setup)
        for table in self.tables:
            yield from wait_active(setup.name_of(table))
            yield from _enable_ttl(table, setup)
        return created

    def _create(self, table: Table, setup: Setup) -> Flow[list[str]]:
        try:
            yield Request("CreateTable", {**table.definition(), "TableName": setup.name_of(table)}, f"{table.name} create")
        except ServiceError as error:
            # Another process may have created it meanwhile.
            if self.ensure and error.code == "ResourceInUseException":
                return []
            raise
        return [setup.name_of(table)]


def _check_names(table: Table, name: str) -> None:
    """Raise `BadName` for names that are too short for DynamoDB. The declaration cannot check this, as table names have a prefix."""
    for text in (name, *(index.name for index in table.indexes)):
        if len(text) < _MIN_NAME_LENGTH:
            raise BadName(f"The name {text!r} of {'a table' if text == name else f'an index of {name}'} is too short.")


def _enable_ttl(table: Table, setup: Setup) -> Flow[None]:
    """Enable TTL if an entity has a TTL attribute."""
    attribute, name = table.ttl(), setup.name_of(table)
    if attribute is None or (yield from _expires(name)):
        return
    specification = {"Enabled": True, "AttributeName": attribute}
    try:
        yield Request("UpdateTimeToLive", {"TableName": name, "TimeToLiveSpecification": specification}, f"{table.name} ttl")
    except ServiceError as error:
        # Another process may have enabled it meanwhile.
        if error.code not in ("ValidationException", "ResourceInUseException") or not (yield from _expires(name)):
            raise


def _expires(name: str) -> Flow[bool]:
    """Whether TTL is enabled for a table, or is being enabled."""
    response = yield Request("DescribeTimeToLive", {"TableName": name}, "describe ttl")
    return response["TimeToLiveDescription"].get("TimeToLiveStatus") in ("ENABLED", "ENABLING")


@dataclass(frozen=True, slots=True)
class DeleteTables(_TableOperation):
    """Delete tables."""

    tables: tuple[Table, ...]

    def flow(self, setup: Setup) -> Flow[list[str]]:
        """Delete the tables that exist, and wait until they are deleted. Returns their names."""
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
            yield from wait_deleted(name)
        return names


@dataclass(frozen=True, slots=True)
class TableStates(Operation[dict[str, str]]):
    """Read the states of tables."""

    tables: tuple[Table, ...]

    def flow(self, setup: Setup) -> Flow[dict[str, str]]:
        """One DescribeTable request for each table."""
        states: dict[str, str] = {}
        for table in self.tables:
            name = setup.name_of(table)
            description = yield from describe(name)
            states[name] = "MISSING" if description is None else description["TableStatus"]
        return states

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """No partitions, because it does not use items."""
        yield from ()


@dataclass(frozen=True)
class Health:
    """The result of a health check."""

    #: the duration of the check
    seconds: float
    #: the problems that were found, in words
    problems: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the store answers, and all tables and indexes are active and have the declared keys."""
        return not self.problems


@dataclass(frozen=True, slots=True)
class HealthCheck(Operation[Health]):
    """Check a store and some of its tables."""

    tables: tuple[Table, ...]

    def flow(self, setup: Setup) -> Flow[Health]:
        """One request for each table, or a single one without tables. An error of the service becomes a problem, and is not raised."""
        started, problems = setup.ticks(), []
        try:
            if not self.tables:
                yield Request("ListTables", {"Limit": 1}, "health")
            for table in self.tables:
                name = setup.name_of(table)
                described = yield from describe(name)
                problems += drift(table, name, described)
        except (ServiceError, Unreachable) as error:
            problems.append(str(translated(error, None)))
        return Health(setup.ticks() - started, tuple(problems))

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """Raises `OutOfScope`: a scoped store cannot use whole tables."""
        raise OutOfScope("A scoped store cannot check tables.")


def drift(table: Table, name: str, described: Mapping[str, Any] | None) -> list[str]:
    """The problems of a deployed table: the table or an index is missing or not active, or its key is not as declared."""
    status = "missing" if described is None else described["TableStatus"]
    if described is None or status not in _USABLE:
        return [f"The table {name} is {status.lower()}."]
    problems = key_differences(table, name, described)
    deployed = {entry["IndexName"]: entry for kind in _KINDS for entry in described.get(kind) or ()}
    for index in table.indexes:
        described_index = deployed.get(index.name)
        status = "MISSING" if described_index is None else described_index.get("IndexStatus", "ACTIVE")
        if described_index is None or status not in _USABLE:
            problems.append(f"The index {index.name} of the table {name} is {status.lower()}.")
        elif described_index["KeySchema"] != index.definition()["KeySchema"]:
            problems.append(f"The index {index.name} of the table {name} has another key than declared.")
    return problems


def describe(name: str) -> Flow[dict[str, Any] | None]:
    """The description of a table, or None if it does not exist."""
    try:
        response = yield Request("DescribeTable", {"TableName": name}, "describe")
    except ServiceError as error:
        if error.code == "ResourceNotFoundException":
            return None
        raise
    description: dict[str, Any] = response["Table"]
    return description


def wait_active(name: str) -> Flow[None]:
    """Wait until a table and all its indexes are active. Raises `TimedOut` after several minutes."""
    for _ in range(_MAX_POLLS):
        table = yield from describe(name)
        if table is not None and table["TableStatus"] == "ACTIVE":
            indexes = table.get("GlobalSecondaryIndexes", ())
            if all(index.get("IndexStatus", "ACTIVE") == "ACTIVE" for index in indexes):
                return
        yield Pause(_POLL_SECONDS)
    raise TimedOut(f"The table {name} is still not active.", fix="Check its status; creating indexes of large tables takes long.")


def wait_deleted(name: str) -> Flow[None]:
    """Wait until a table is deleted. Raises `TimedOut` after several minutes."""
    for _ in range(_MAX_POLLS):
        if (yield from describe(name)) is None:
            return
        yield Pause(_POLL_SECONDS)
    raise TimedOut(f"The table {name} is still not deleted.", fix="Check its status.")


def check_keys(tables: Iterable[Table], setup: Setup) -> Flow[frozenset[Table]]:
    """The tables that exist. Raises `KeysDiffer` with all differences if one has another key than declared, before anything is written."""
    existing, problems = set[Table](), dict[str, list[str]]()
    for table in tables:
        name = setup.name_of(table)
        described = yield from describe(name)
        if described is None:
            continue
        existing.add(table)
        if differences := key_differences(table, name, described):
            problems[table.name] = differences
    if problems:
        raise KeysDiffer.of(problems)
    return frozenset(existing)


def key_differences(table: Table, name: str, described: Mapping[str, Any]) -> list[str]:
    """How the key of a deployed table, or the type of an attribute in an index's key, differs from the declaration."""
    declared = table.definition()
    there, declared_key = _key_of(described), _key_of(declared)
    if there != declared_key:
        return [f"The table {name} has the key {there}, but {declared_key} is declared."]
    types = _types_of(described)
    return [
        f"The table {name} indexes {attribute} as {_TYPES[types[attribute]]}, but {_TYPES[declared_type]} is declared."
        for attribute, declared_type in _types_of(declared).items()
        if types.get(attribute, declared_type) != declared_type
    ]


def _types_of(definition: Mapping[str, Any]) -> dict[str, str]:
    return {entry["AttributeName"]: entry["AttributeType"] for entry in definition["AttributeDefinitions"]}


def _key_of(definition: Mapping[str, Any]) -> str:
    """A primary key in words, hash first: `(partition_key S, run_uuid S)`."""
    types, schema = _types_of(definition), sorted(definition["KeySchema"], key=lambda entry: str(entry["KeyType"]))
    names = [entry["AttributeName"] for entry in schema]
    return f"({', '.join(f'{name} {types[name]}' for name in names)})"
