"""`gateleg secrets`: secrets of applications, by name. No command shows a value."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from gateleg.cli.action_commands import acting, add_actions
from gateleg.cli.commands import HELP
from gateleg.cli.host_runner import explain
from gateleg.commands.opening import settings_from
from gateleg.commands.options import ConfigOption, JsonOption, PrefixOption, StoreOption
from gateleg.host.actions.secrets import SECRET_ACTIONS

if TYPE_CHECKING:
    from gateleg.host.secrets import SecretInfo
    from gateleg.host.settings import Settings

app = typer.Typer(help=HELP["secrets"], add_completion=False, no_args_is_help=True)

OwnerOption = Annotated[str, typer.Option("--application", "-a", help="The owner: an application, or `host`.")]
TenantOption = Annotated[str | None, typer.Option(help="The tenant that owns it; the application itself by default.")]


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

    settings = settings_from(config, store=store, prefix=prefix)
    try:
        listed = asyncio.run(_list(settings, application, tenant))
    except Exception as error:
        explain(error, settings)
    rows = [
        {"name": info.name, "version": str(info.version), "changed": f"{info.changed_at:%Y-%m-%d %H:%M}", "by": info.changed_by}
        for info in listed
    ]
    if json:
        print_json(rows)
    elif rows:
        print_rows(rows)
    else:
        typer.echo(f"No secrets of {application}.")


async def _list(settings: "Settings", application: str, tenant: str | None) -> "list[SecretInfo]":
    async with acting(settings) as call:
        return await call.host.secrets.of(application).list(tenant=tenant)


add_actions(app, SECRET_ACTIONS, "secrets")
