"""Which handlers a process can create again: those of applications whose parts can be imported."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from gateleg.jobs import Jobs
from gateleg.jobs.handlers import JobsFactory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.jobs import TableNames
    from gateleg.web.application import Application
    from gateleg.web.settings import Settings

__all__ = ["factory_of"]


def factory_of(
    settings: Settings, application: Application, *, tables: TableNames | None = None, further: Sequence[TableNames] = ()
) -> JobsFactory | None:
    """A factory with which a process creates an application's handlers. None if its `jobs` are not a function that can be imported.

    `tables` are the queue tables that it brings, `further` those of all applications of the host.
    """
    if application.jobs is None or isinstance(application.jobs, Jobs):
        return None
    needed = {"jobs": application.jobs, "settings": application.settings, "lifespan": application.lifespan}
    parts = {field: address_of(part) for field, part in needed.items() if part is not None}
    if None in parts.values():
        return None
    arguments = {
        "settings": settings.pack(),
        "name": application.name,
        "parts": parts,
        "tables": None if tables is None else asdict(tables),
        "further": [asdict(names) for names in further],
    }
    return JobsFactory("gateleg.web.handler_processes:open_jobs", arguments)


def address_of(named: Any) -> str | None:
    """The import path of an object, as `module:name`. None if it is not at the top level of a module."""
    module, name = getattr(named, "__module__", ""), getattr(named, "__qualname__", "")
    if module == "__main__":
        module = getattr(getattr(sys.modules["__main__"], "__spec__", None), "name", "")
    found = getattr(sys.modules.get(named.__module__), name, None) if module and name else None
    return f"{module}:{name}" if found is named else None
