"""Finds the declared tables, entities and patterns that a command names.

Comparisons on the command line: `sequence>=3`, `created_at=2026-05-01..2026-06-01`, `name=Sm*`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gateleg.cli.installed import import_named
from gateleg.commands.printing import MISUSED, fail

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pydantic import BaseModel

    from gateleg.host.settings import Settings
    from gateleg.model import Access, Attr, Condition, Spec, Table
    from gateleg.store.setup import Setup


def load_tables(settings: Settings, only: Sequence[str] | None = None, *, built_in: bool = True) -> list[Table]:
    """The tables of the configured modules; by default those of Gateleg itself and of the installed applications.

    Without `built_in`, Gateleg's own tables are left out unless `only` names them.
    """
    modules = settings.tables
    own: list[Table] = []
    if modules:
        declared = [table for name in modules for table in _tables_of(import_named(name), name)]
    else:
        own, declared = _installed_tables(settings)
    found = list(dict.fromkeys((*own, *declared)))
    if not only:
        return found if built_in else [table for table in found if table not in own]
    known = {table.name: table for table in found}
    unknown = [name for name in only if name not in known]
    if unknown:
        fail(f"unknown table {', '.join(unknown)}; declared are: {', '.join(known)}", MISUSED)
    return [known[name] for name in only]


def _installed_tables(settings: Settings) -> tuple[list[Table], list[Table]]:
    """The tables of Gateleg itself that a host with these settings needs, and those of its applications."""
    from gateleg.ai import MODEL_TABLES
    from gateleg.cli.installed import installed_applications
    from gateleg.host.migrations import tables_for_migrations
    from gateleg.host.queues import further_tables
    from gateleg.host.tables import TABLES as WEB_TABLES
    from gateleg.jobs.table_streams import stream_table
    from gateleg.jobs.tables import PLAIN, tables_named

    applications = installed_applications(settings)
    consumed = [stream_table] if any(application.table_streams is not None for application in applications) else []
    queue = [table for names in (PLAIN, *further_tables(applications)) for table in tables_named(names).all]
    own = [*queue, *WEB_TABLES, *MODEL_TABLES, *tables_for_migrations(applications), *consumed]
    return own, [table for application in applications for table in application.tables]


def _tables_of(module: Any, name: str) -> list[Table]:
    from gateleg.model import DeclarationError, Entity, Table, spec_of

    values = list(vars(module).values())
    entities = [value for value in values if isinstance(value, type) and issubclass(value, Entity) and vars(value).get("__table__")]
    tables = [value for value in values if isinstance(value, Table)]
    try:
        # Reading a spec also builds it, if types of an entity were declared later.
        found = list(dict.fromkeys((*tables, *(spec_of(entity).table for entity in entities))))
    except DeclarationError as error:
        fail(f"{name} has an invalid declaration: {error}", MISUSED)
    if not found:
        fail(f"{name} declares no tables", MISUSED)
    return found


def find_pattern(tables: Iterable[Table], name: str) -> Access[Any]:
    """The pattern with a name: `Job.ready`, `Orders/ready`, or `ready` if it is unique."""
    from gateleg.model.types import did_you_mean

    patterns = [access for table in tables for spec in table.specs for access in spec.patterns.values()]
    owner, _, short = name.replace("/", ".").rpartition(".")
    found = [access for access in patterns if access.pattern.name == short and owner in ("", access.entity.__name__, _table_name(access))]
    if not found:
        names = [access.name for access in patterns]
        suggestion = did_you_mean(name, names, otherwise=f"Declared are {', '.join(names) or 'none'}")
        fail(f"unknown access pattern {name}. {suggestion}", MISUSED)
    if len(found) > 1:
        names = [access.name for access in found]
        if len(set(names)) < len(names):
            # Entities of several tables have one name, as the jobs of a host and of an application with job tables of its own.
            names = [f"{_table_name(access)}/{access.pattern.name}" for access in found]
        fail(f"{name} may be {' or '.join(names)}", MISUSED)
    return found[0]


def _table_name(access: Access[Any]) -> str:
    from gateleg.model import spec_of

    return spec_of(access.entity).table.name


def find_table(tables: Iterable[Table], name: str, setup: Setup) -> Table | None:
    """The declared table with a name: its own, its name in the store, or that of one of its entities."""
    for table in tables:
        if name in (table.name, setup.name_of(table)) or any(spec.name == name for spec in table.specs):
            return table
    return None


def find_entity(table: Table, name: str) -> Spec[Any]:
    """An entity of a table."""
    found = next((spec for spec in table.specs if spec.name == name), None)
    if found is None:
        fail(f"{table.name} has no entity {name}; declared are: {', '.join(spec.name for spec in table.specs) or 'none'}", MISUSED)
    return found


def read_arguments(pairs: Sequence[str] | None) -> dict[str, str]:
    """Arguments from `name=value`."""
    found = {}
    for pair in pairs or ():
        name, equals, value = pair.partition("=")
        if not name or not equals:
            fail(f"--arg takes name=value, not {pair!r}", MISUSED)
        found[name] = value
    return found


_COMPARISON = re.compile(r"\s*(\w+)\s*(<=|>=|!=|<|>|=)\s*(.*?)\s*", re.DOTALL)


def read_comparison(entity: type[BaseModel], text: str) -> Condition:
    """The condition of a text; its value is parsed as the attribute that it is compared with."""
    from gateleg.model import ModelError

    match = _COMPARISON.fullmatch(text)
    if match is None:
        fail(f"{text!r} is not a comparison; use name>=value, name=low..high or name=start*", MISUSED)
    name, operator, value = match.groups()
    if name not in entity.model_fields:
        fail(f"{entity.__name__} has no attribute {name}; it has {', '.join(entity.model_fields)}", MISUSED)
    try:
        return _condition(getattr(entity, name), operator, value)
    except ModelError as error:
        fail(str(error), MISUSED)


def _condition(attribute: Attr[Any], operator: str, value: str) -> Condition:
    low, dots, high = value.partition("..")
    if operator == "=" and dots and low and high:
        return attribute.between(low, high)
    if operator == "=" and value.endswith("*"):
        return attribute.begins_with(value[:-1])
    found: Condition = {
        "=": attribute.__eq__,
        "!=": attribute.__ne__,
        "<": attribute.__lt__,
        "<=": attribute.__le__,
        ">": attribute.__gt__,
        ">=": attribute.__ge__,
    }[operator](value)
    return found
