"""`gateleg doctor`: whether everything that a host needs is available and works."""

from typing import TYPE_CHECKING, Any

import typer

from gateleg.commands.options import ConfigOption, JsonOption, ObjectsOption, PrefixOption, StoreOption
from gateleg.commands.printing import FAILED

if TYPE_CHECKING:
    from gateleg.cli.installed import Installed
    from gateleg.host.doctor import Diagnosis
    from gateleg.host.settings import Settings

app = typer.Typer(add_completion=False)
_MARKS = {"ok": "ok     ", "warning": "warning", "failed": "FAILED "}


@app.command()
def doctor(
    store: StoreOption = None,
    prefix: PrefixOption = None,
    objects: ObjectsOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Check the store, its tables, objects, disk, workers, clocks and applications. Changes no tables. Exits with 1 if a check fails."""
    import asyncio

    from gateleg.cli.installed import find_installed, settings_of_tables
    from gateleg.commands.printing import print_json

    settings = settings_of_tables(config, store=store, prefix=prefix, objects=objects)
    installed = find_installed(settings)
    found = [_without_passwords(one) for one in (*_left_out(installed), *asyncio.run(_examined(settings, installed)))]
    if json:
        print_json([_plain(one) for one in found])
    else:
        for one in found:
            _print(one)
    if any(one.result.status == "failed" for one in found):
        raise typer.Exit(FAILED)


def _left_out(installed: "Installed") -> "list[Diagnosis]":
    from gateleg.host.application import CheckResult
    from gateleg.host.doctor import Diagnosis

    broken = [one for one in installed.left_out if not one.is_optional]
    return [Diagnosis("application", CheckResult("failed", one.reason, fix="Fix or uninstall it."), one.name) for one in broken]


async def _examined(settings: "Settings", installed: "Installed") -> "list[Diagnosis]":
    from gateleg.commands.opening import missing_store
    from gateleg.host.application import CheckResult
    from gateleg.host.doctor import Diagnosis, examine
    from gateleg.host.host import Host

    problem = missing_store(settings)
    if problem is not None:
        return [Diagnosis("store", CheckResult("failed", problem))]
    try:
        async with Host.open(settings, installed.applications, prepare=False, tolerant=True) as host:
            left_out = (host.failed_applications or {}).items()
            broken = [Diagnosis("start", CheckResult("failed", reason), name) for name, reason in left_out]
            return [*broken, *await examine(host)]
    except Exception as error:
        return [Diagnosis("host", CheckResult("failed", f"{type(error).__name__}: {error}"))]


def _without_passwords(one: "Diagnosis") -> "Diagnosis":
    """A diagnosis as it may be shown: people paste it into reports."""
    from dataclasses import replace

    from gateleg.store.errors import without_credentials

    shown = replace(one.result, message=without_credentials(one.result.message), fix=without_credentials(one.result.fix))
    return replace(one, result=shown)


def _plain(one: "Diagnosis") -> dict[str, Any]:
    return {
        "application": one.application,
        "check": one.name,
        "status": one.result.status,
        "message": one.result.message,
        "fix": one.result.fix,
        "details": dict(one.result.details),
    }


def _print(one: "Diagnosis") -> None:
    name = one.name if one.application is None else f"{one.application}: {one.name}"
    typer.echo(f"{_MARKS[one.result.status]}  {name}: {one.result.message}")
    if one.result.status != "ok" and one.result.fix:
        typer.echo(f"         {one.result.fix}")
