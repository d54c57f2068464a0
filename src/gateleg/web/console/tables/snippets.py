"""A query as Python code and as a command, to copy."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from gateleg.host.settings import format_setting
from gateleg.model import KeyPart, spec_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateleg.host.settings import Settings
    from gateleg.model import Access, Spec, Table


@dataclass(frozen=True)
class StoreLocation:
    """How a snippet finds a table: the address of the store, and the names of its tables."""

    store: str = "embedded:./data"
    prefix: str = ""
    table_names: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The location of a host's tables."""
        return cls(format_setting(settings.store), settings.prefix, settings.table_names)

    def named(self, table: Table) -> dict[str, str]:
        """The configured name of a table, if it has one."""
        return {name: own for name, own in self.table_names.items() if name == table.name}

    def connection(self, table: Table) -> str:
        """The Python line that opens the store of a table."""
        options = [f'"{self.store}"', *([f"prefix={self.prefix!r}"] if self.prefix else [])]
        options += [f"table_names={named!r}"] if (named := self.named(table)) else []
        return f"store = Store.connect({', '.join(options)})"

    @property
    def options(self) -> list[str]:
        """Command options for the store and the prefix."""
        return ["--store", self.store, *(["--prefix", self.prefix] if self.prefix else [])]

    def command(self, table: Table, words: Sequence[str]) -> str:
        """A command, with the configured name of a table as an environment variable, because it has no option."""
        own = "".join(f"GATELEG_TABLE_NAMES={shlex.quote(f'{name}={text}')} " for name, text in self.named(table).items())
        return own + shlex.join(words)


_LOCAL_STORE = StoreLocation()


def as_python(
    access: Access[Any], values: Mapping[str, Any], *, limit: int, reverse: bool = False, location: StoreLocation = _LOCAL_STORE
) -> str:
    """The Python code of a query."""
    entity = access.entity
    imports = {f"from {entity.__module__} import {entity.__name__}", "from gateleg.store import Store"}
    arguments = []
    for name, value in values.items():
        text, needed = _literal(value)
        arguments.append(f"{name}={text}")
        imports |= needed
    if access.plan.index.project != "all":
        arguments.append("hydrate=True")
    if reverse:
        arguments.append(f"newest_first={access.pattern.order != 'desc'}")
    arguments.append(f"limit={limit}")
    call = ", ".join([f"{entity.__name__}.{access.pattern.name}", *arguments])
    lines = [*sorted(imports, key=_import_order), "", location.connection(spec_of(entity).table)]
    return "\n".join([*lines, f"for item in store.query({call}):", "    print(item)"])


def _import_order(line: str) -> tuple[bool, str]:
    """The standard library first."""
    return (not line.startswith(("from datetime", "from uuid", "from decimal")), line)


def _literal(value: Any) -> tuple[str, set[str]]:
    """A value as a Python literal, and the imports that it needs."""
    if isinstance(value, Enum):
        return repr(value.value), set()
    if isinstance(value, UUID):
        return f'UUID("{value}")', {"from uuid import UUID"}
    if isinstance(value, datetime):
        moment = value.astimezone(UTC).isoformat()
        return f'datetime.fromisoformat("{moment}")', {"from datetime import datetime"}
    if isinstance(value, date):
        return f'date.fromisoformat("{value}")', {"from datetime import date"}
    if isinstance(value, KeyPart):
        return repr(str(value)), set()
    if type(value).__name__ == "Decimal":
        return f'Decimal("{value}")', {"from decimal import Decimal"}
    return repr(value), set()


def as_command(
    access: Access[Any], texts: Mapping[str, str], *, limit: int, reverse: bool = False, location: StoreLocation = _LOCAL_STORE
) -> str:
    """The command of a query."""
    words = ["gateleg", "tables", "query", access.name, "--tables", access.entity.__module__, *location.options]
    for name in (*access.required, *access.optional):
        if texts.get(name, "").strip():
            words += ["--arg", f"{name}={texts[name].strip()}"]
    words += ["--limit", str(limit)]
    if reverse:
        words.append("--reverse")
    return location.command(spec_of(access.entity).table, words)


def as_item_python(spec: Spec[Any], key: Mapping[str, Any], *, location: StoreLocation = _LOCAL_STORE) -> str:
    """The Python code that reads an item by its key."""
    imports = {f"from {spec.entity.__module__} import {spec.name}", "from gateleg.store import Store"}
    arguments = []
    for name, value in key.items():
        text, needed = _literal(value)
        arguments.append(f"{name}={text}")
        imports |= needed
    lines = [*sorted(imports, key=_import_order), "", location.connection(spec.table)]
    return "\n".join([*lines, f"item = store.get({', '.join([spec.name, *arguments])})"])


def key_of(instance: Any) -> dict[str, Any]:
    """The components of an instance's key, by name."""
    spec = spec_of(type(instance))
    values = spec.values(instance)
    return {name: values[name] for name in spec.key.names}
