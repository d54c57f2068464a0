"""A question as Python and as a command line, to take along."""

from __future__ import annotations

import shlex
from datetime import UTC, date, datetime
from enum import Enum
from typing import TYPE_CHECKING, Any
from uuid import UUID

from gateleg.model import KeyPart, spec_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.model import Access


def as_python(access: Access[Any], values: Mapping[str, Any], *, limit: int, reverse: bool = False, store: str = "embedded:./data") -> str:
    """The lines of Python that ask the same."""
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
    lines = [*sorted(imports, key=_import_order), "", f'store = Store.connect("{store}")']
    return "\n".join([*lines, f"for item in store.query({call}):", "    print(item)"])


def _import_order(line: str) -> tuple[bool, str]:
    """The standard library first."""
    return (not line.startswith(("from datetime", "from uuid", "from decimal")), line)


def _literal(value: Any) -> tuple[str, set[str]]:
    """A value as Python writes it, and the imports that it needs."""
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
    access: Access[Any],
    texts: Mapping[str, str],
    *,
    limit: int,
    reverse: bool = False,
    store: str = "embedded:./data",
    prefix: str = "",
) -> str:
    """The command that asks the same."""
    words = ["gateleg", "tables", "query", access.name, "--tables", access.entity.__module__, "--store", store]
    if prefix:
        words += ["--prefix", prefix]
    for name in (*access.required, *access.optional):
        if texts.get(name, "").strip():
            words += ["--arg", f"{name}={texts[name].strip()}"]
    words += ["--limit", str(limit)]
    if reverse:
        words.append("--reverse")
    return shlex.join(words)


def as_item_python(spec_name: str, module: str, key: Mapping[str, Any], *, store: str = "embedded:./data") -> str:
    """The lines of Python that read one item by its key."""
    imports = {f"from {module} import {spec_name}", "from gateleg.store import Store"}
    arguments = []
    for name, value in key.items():
        text, needed = _literal(value)
        arguments.append(f"{name}={text}")
        imports |= needed
    lines = [*sorted(imports, key=_import_order), "", f'store = Store.connect("{store}")']
    return "\n".join([*lines, f"item = store.get({', '.join([spec_name, *arguments])})"])


def key_of(instance: Any) -> dict[str, Any]:
    """The components of an instance's key, by name."""
    spec = spec_of(type(instance))
    values = spec.values(instance)
    return {name: values[name] for name in spec.key.names}
