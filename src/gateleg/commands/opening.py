"""Open the store of a command, and explain failures.

The settings of a command: `gateleg.toml`, overridden by `GATELEG_*`, overridden by its flags.

Check for optional packages that a command needs.

The config of a job on a command line.
"""

from __future__ import annotations

import json
import sys
from contextlib import asynccontextmanager, contextmanager, suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import typer

from gateleg.commands.printing import FAILED, MISUSED, fail
from gateleg.extras import MissingPackage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from gateleg.host import Application, Resources
    from gateleg.host.settings import Settings
    from gateleg.store import Store

__all__ = ["read_config", "require_packages"]


#: Cursors need no secret here, because users of the command line may read the whole table anyway. The key only binds a cursor to its query.
CURSOR_KEY = b"gateleg tables"


@contextmanager
def opened(settings: Settings, *, create: bool = False, status: int = FAILED) -> Iterator[Store]:
    """Open the store of the settings, and close it after the block. Errors of the store end the command.

    An embedded store that does not exist is created only with `create`.
    """
    from gateleg.store import Store

    with _explained(settings, status):
        if not create:
            require_store(settings, status)
        with Store.connect(settings.store, settings.prefix, cursor_key=CURSOR_KEY, table_names=settings.table_names) as store:
            yield store


@asynccontextmanager
async def open_resources(application: Application, settings: Settings, *, create: bool = False) -> AsyncIterator[Resources[Any]]:
    """Open the resources that an application has on a host with these settings, for its commands.

    An embedded store that does not exist is created only with `create`, for commands that a new user may run first.
    """
    from gateleg.host.host import Host

    with explaining_bad_settings(), _explained(settings, FAILED):
        if not create:
            require_store(settings)
        async with Host.open(settings, [application]) as host:
            yield host.resources[application.name]


@contextmanager
def _explained(settings: Settings, status: int) -> Iterator[None]:
    """End the command for errors of the store."""
    from gateleg.model import ModelError
    from gateleg.store import StoreError
    from gateleg.store.transports import ServiceError, Unreachable

    try:
        yield
    except (StoreError, ModelError, ServiceError, Unreachable) as error:
        fail(str(error), status)
    except (OSError, ValueError) as error:
        fail(f"cannot use {settings.store}: {error}", status)


def require_store(settings: Settings, status: int = FAILED) -> None:
    """End the command if the settings name an embedded store that does not exist: a mistyped path must not create an empty store."""
    problem = missing_store(settings)
    if problem is not None:
        fail(problem, status)


def print_new_store(settings: Settings) -> None:
    """Print on standard error that a command creates an embedded store, because the host may use another one."""
    from gateleg.store import StoreError
    from gateleg.store.addresses import parse_address

    if missing_store(settings) is not None:
        with suppress(StoreError):
            place = parse_address(settings.store).place
            typer.echo(f"gateleg: creating a new store at {place} (use --store for another one)", err=True)


def missing_store(settings: Settings) -> str | None:
    """An error message if the address is invalid or the embedded store does not exist; otherwise None."""
    from pathlib import Path

    from gateleg.store import StoreError
    from gateleg.store.addresses import parse_address
    from gateleg.store.transports.embedded import MEMORY, database_file

    try:
        address = parse_address(settings.store)
    except StoreError as error:
        return str(error)
    if address.kind != "embedded" or address.place == MEMORY or Path(database_file(address.place)).is_file():
        return None
    origin = settings.origin("store")
    return (
        f"there is no store at {address.place} ({'the default' if origin == 'default' else f'from {origin}'}): "
        f"{database_file(address.place)} does not exist. Choose another with --store, GATELEG_STORE or `store` in gateleg.toml, "
        "or create this one with `gateleg up` or `gateleg tables apply`"
    )


def settings_from(config: Path | None, **flags: Any) -> Settings:
    """The effective settings. Flags that are None count as not set. Invalid settings end the command."""
    import os

    from gateleg.host.settings import load_settings

    with explaining_bad_settings():
        return load_settings(flags=flags, environ=os.environ, file=config, given=config is not None)


@contextmanager
def explaining_bad_settings() -> Iterator[None]:
    """End the command if the settings are invalid, with one line for each problem."""
    from gateleg.host.settings import BadSettings

    try:
        yield
    except BadSettings as error:
        for problem in error.problems[:-1]:
            typer.echo(f"gateleg: {problem}", err=True)
        fail(error.problems[-1], MISUSED)


def require_packages(extra: str, *modules: str) -> None:
    """End the command with an installation hint if a module of an extra is missing. Nothing is imported."""
    for module in modules:
        if find_spec(module) is None:
            fail(str(MissingPackage(module, extra)))


def read_config(text: str) -> dict[str, Any]:
    """Parse a config from JSON text, or from standard input for `-`. Invalid JSON ends the command."""
    try:
        found = json.loads(sys.stdin.read() if text == "-" else text)
    except ValueError as error:
        fail(f"the config is not JSON: {error}", MISUSED)
    if not isinstance(found, dict):
        fail("the config must be a JSON object", MISUSED)
    return found
