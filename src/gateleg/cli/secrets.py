"""`gateleg secrets`: secrets of applications, by name. No command shows a value."""

from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from gateleg.cli.keys import command_line_principal
from gateleg.commands.opening import settings_from
from gateleg.commands.options import ConfigOption, JsonOption, PrefixOption, StoreOption

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from gateleg.host.audit import Audit
    from gateleg.host.secrets import SecretInfo, Secrets

app = typer.Typer(help="Secrets of applications and tenants, encrypted in the store.", add_completion=False, no_args_is_help=True)
R = TypeVar("R")

NameArgument = Annotated[str, typer.Argument(help="The name that settings and applications refer to it by.")]
OwnerOption = Annotated[str, typer.Option("--application", "-a", help="The owner: an application, or `host`.")]
TenantOption = Annotated[str | None, typer.Option(help="The tenant that owns it; the application itself by default.")]


def _with_secrets(
    config: "Path | None",
    store: str | None,
    prefix: str | None,
    application: str,
    work: "Callable[[Secrets, Audit], Coroutine[Any, Any, R]]",
) -> R:
    """Run something with the secrets in the store of the settings."""
    import asyncio

    from gateleg.cli.host_runner import explain
    from gateleg.commands.opening import require_store
    from gateleg.host.audit import Audit
    from gateleg.host.secrets import Secrets
    from gateleg.host.tables import TABLES
    from gateleg.store import AsyncStore

    settings = settings_from(config, store=store, prefix=prefix)
    require_store(settings)

    async def run() -> R:
        async with AsyncStore.connect(settings.store, settings.prefix, table_names=settings.table_names) as opened:
            await opened.ensure_tables(*TABLES)
            return await work(Secrets(opened, settings.load_secret(), application), Audit(opened, days=settings.audit_days))

    try:
        return asyncio.run(run())
    except Exception as error:
        explain(error, settings)


def _asked(prompt: str) -> str:
    """A line of standard input, or hidden input. Not an argument, which would stay in the shell's history."""
    import sys

    return typer.prompt(prompt, hide_input=True) if sys.stdin.isatty() else sys.stdin.read().rstrip("\r\n")


@app.command(name="set")
def put(
    name: NameArgument,
    application: OwnerOption = "host",
    tenant: TenantOption = None,
    store: StoreOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
) -> None:
    """Store a secret or replace its value, which is read from standard input or prompted for."""
    value = _asked("Value")

    async def work(secrets: "Secrets", audit: "Audit") -> "SecretInfo":
        info = await secrets.put(name, value, tenant=tenant, by="command line")
        await audit.note(command_line_principal(), "secret.put", f"{application}/{name}", tenant=tenant, version=info.version)
        return info

    info = _with_secrets(config, store, prefix, application, work)
    typer.echo(f"{application}/{name} was set (version {info.version})")


@app.command(name="list")
def listed(
    application: OwnerOption = "host",
    tenant: TenantOption = None,
    store: StoreOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """List secrets by name, without their values."""
    from gateleg.commands.printing import print_json, print_rows

    async def work(secrets: "Secrets", audit: "Audit") -> "list[SecretInfo]":
        return await secrets.list(tenant=tenant)

    found = _with_secrets(config, store, prefix, application, work)
    rows = [
        {"name": one.name, "version": str(one.version), "changed": f"{one.changed_at:%Y-%m-%d %H:%M}", "by": one.changed_by}
        for one in found
    ]
    if json:
        print_json(rows)
    elif rows:
        print_rows(rows)
    else:
        typer.echo(f"No secrets of {application}.")


@app.command()
def delete(
    name: NameArgument,
    application: OwnerOption = "host",
    tenant: TenantOption = None,
    store: StoreOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
) -> None:
    """Delete a secret."""

    async def work(secrets: "Secrets", audit: "Audit") -> None:
        await secrets.delete(name, tenant=tenant)
        await audit.note(command_line_principal(), "secret.delete", f"{application}/{name}", tenant=tenant)

    _with_secrets(config, store, prefix, application, work)
    typer.echo(f"{application}/{name} was deleted")


@app.command()
def rekey(
    application: OwnerOption = "host",
    store: StoreOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
) -> None:
    """Re-encrypt an application's secrets after the host's `secret` has changed. The old one is read from standard input."""
    former = _asked("The old secret of the host")

    async def work(secrets: "Secrets", audit: "Audit") -> int:
        from gateleg.host.host_secret import given_secret

        count = await secrets.rekey(given_secret(former))
        await audit.note(command_line_principal(), "secret.rekey", application, count=count)
        return count

    count = _with_secrets(config, store, prefix, application, work)
    typer.echo(f"{count} secrets of {application} re-encrypted with the current secret of the host")
