"""`health`: check whether a store can be used, for hosts before they accept requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.store.error_translation import translated
from gateleg.store.errors import OutOfScope
from gateleg.store.flow import Request
from gateleg.store.operations.operation import Operation
from gateleg.store.operations.tables import check_tables, describe, key_differences
from gateleg.store.transports import ServiceError, Unreachable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import BaseModel

    from gateleg.model import Table
    from gateleg.model.keys.plans import KeyPlan
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup


_USABLE = ("ACTIVE", "UPDATING")
_KINDS = ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")


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
    deployed = {one["IndexName"]: one for kind in _KINDS for one in described.get(kind) or ()}
    for index in table.indexes:
        found = deployed.get(index.name)
        status = "MISSING" if found is None else found.get("IndexStatus", "ACTIVE")
        if found is None or status not in _USABLE:
            problems.append(f"The index {index.name} of the table {name} is {status.lower()}.")
        elif found["KeySchema"] != index.definition()["KeySchema"]:
            problems.append(f"The index {index.name} of the table {name} has another key than declared.")
    return problems


def health(*tables: Table) -> Operation[Health]:
    """Check that the service answers and that these tables can be used: `store.health(jobs).ok`.

    Does not raise errors of the service; they are in `problems` of the result.
    """
    return HealthCheck(check_tables(tables))
