"""The settings that a command runs with: `gateleg.toml`, overridden by `GATELEG_*`, overridden by its flags."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from gateleg.commands.failures import MISUSED, fail

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gateleg.web.settings import Settings


def settings_from(config: Path | None, **flags: Any) -> Settings:
    """The settings in force; flags that are None were not given. What is wrong with them ends the command."""
    import os

    from gateleg.web.settings import load_settings

    with bad_settings_told():
        return load_settings(flags=flags, environ=os.environ, file=config, given=config is not None)


def settings_of_folder(config: Path | None, *, store: str | None, data: Path | None) -> Settings:
    """The settings in force, for commands that use objects and indexes beside the tables. `data` is the folder of `gateleg up --data`.

    A folder that is named as the store has its objects and indexes too, unless the settings place them elsewhere: otherwise a command
    would search an index of its own, which misses what a host has added.
    """
    from pathlib import Path

    from gateleg.store.addresses import MEMORY, parse_address
    from gateleg.web.settings import DEFAULT

    if data is not None:
        return settings_from(config, data=data, store=store or f"embedded:{data}", objects=f"dir:{data / 'objects'}")
    settings = settings_from(config, store=store)
    address = parse_address(settings.store)
    if store is None or address.kind != "embedded" or address.place == MEMORY or address.place.endswith(".db"):
        return settings
    usual = {"data": address.place, "objects": f"dir:{Path(address.place) / 'objects'}"}
    return settings_from(config, store=store, **{name: value for name, value in usual.items() if settings.origin(name) == DEFAULT})


@contextmanager
def bad_settings_told() -> Iterator[None]:
    """End the command with a line for everything that is wrong with the settings."""
    from gateleg.web.settings import BadSettings

    try:
        yield
    except BadSettings as error:
        for problem in error.problems[:-1]:
            typer.echo(f"gateleg: {problem}", err=True)
        fail(error.problems[-1], MISUSED)
