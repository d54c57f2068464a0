"""Open the store of a command, and explain failures."""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import typer

from gateleg.commands.failures import FAILED, fail
from gateleg.commands.settings import explaining_bad_settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from gateleg.store import Store
    from gateleg.web import Application, Resources
    from gateleg.web.settings import Settings

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
    from gateleg.web.host import Host

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
