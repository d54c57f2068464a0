"""The settings of a command: `gateleg.toml`, overridden by `GATELEG_*`, overridden by its flags."""

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
    """The effective settings. Flags that are None count as not set. Invalid settings end the command."""
    import os

    from gateleg.web.settings import load_settings

    with explaining_bad_settings():
        return load_settings(flags=flags, environ=os.environ, file=config, given=config is not None)


@contextmanager
def explaining_bad_settings() -> Iterator[None]:
    """End the command if the settings are invalid, with one line for each problem."""
    from gateleg.web.settings import BadSettings

    try:
        yield
    except BadSettings as error:
        for problem in error.problems[:-1]:
            typer.echo(f"gateleg: {problem}", err=True)
        fail(error.problems[-1], MISUSED)
