"""`gateleg keys`: who may use a host.

Who acts when a command changes something.
"""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from gateleg.commands.opening import settings_from
from gateleg.commands.options import ConfigOption, CursorOption, JsonOption, LimitOption, PrefixOption, StoreOption

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from gateleg.host.audit import Audit
    from gateleg.host.credentials import Keys
    from gateleg.host.settings import Settings
    from gateleg.host.tables import ApiKey
    from gateleg.store import Page

R = TypeVar("R")

app = typer.Typer(help="API keys of a host: create, list and revoke them.", add_completion=False, no_args_is_help=True)


def _with_keys(
    config: "Path | None",
    store: str | None,
    prefix: str | None,
    work: "Callable[[Keys, Audit], Coroutine[Any, Any, R]]",
    *,
    create: bool = False,
) -> R:
    """Do something with the keys in the store of the settings, which is made only with `create`."""
    import asyncio

    from gateleg.cli.host_runner import explain
    from gateleg.commands.opening import CURSOR_KEY, print_new_store, require_store
    from gateleg.host.audit import Audit
    from gateleg.host.credentials import Keys
    from gateleg.host.tables import TABLES
    from gateleg.store import AsyncStore

    settings = settings_from(config, store=store, prefix=prefix)
    if create:
        print_new_store(settings)
    else:
        require_store(settings)

    async def run() -> R:
        async with AsyncStore.connect(settings.store, settings.prefix, cursor_key=CURSOR_KEY, table_names=settings.table_names) as opened:
            await opened.ensure_tables(*TABLES)
            return await work(Keys(opened, _tenant_check(settings)), Audit(opened, days=settings.audit_days))

    try:
        return asyncio.run(run())
    except Exception as error:
        explain(error, settings)


def _tenant_check(settings: "Settings") -> "Callable[[str], None]":
    """The check of a tenant by the installed applications, which are loaded only if a key has one."""

    def check(tenant: str) -> None:
        from gateleg.cli.installed import installed_applications
        from gateleg.host.application import tenant_check
        from gateleg.host.sections import NoSettings

        installed = installed_applications(settings)
        tenant_check([(one, settings.section(one.name, one.settings or NoSettings)) for one in installed])(tenant)

    return check


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="The person or program that will use the key.")],
    role: Annotated[
        Literal["member", "viewer", "operator", "admin"],
        typer.Option(
            help="member: use applications; viewer: also read everything; operator: also submit, cancel, edit; admin: also manage keys."
        ),
    ] = "viewer",
    group: Annotated[list[str] | None, typer.Option("--group", "-g", help="A group, for applications; may be repeated.")] = None,
    tenant: Annotated[str | None, typer.Option(help="The tenant that it belongs to, for applications.")] = None,
    days: Annotated[float | None, typer.Option(min=0.001, max=36_500, help="Days until it expires.")] = None,
    store: StoreOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
) -> None:
    """Create a key and print it. It is shown only once."""

    async def work(keys: "Keys", audit: "Audit") -> str:
        from gateleg.host import Role

        ends_at = None if days is None else datetime.now(UTC) + timedelta(days=days)
        made = await keys.create(name, Role[role.upper()], groups=group or (), tenant=tenant, ends_at=ends_at, by="command line")
        await audit.note(command_line_principal(), "key.create", made.key.key_id, name=name, role=role)
        return made.token

    typer.echo(_with_keys(config, store, prefix, work, create=True))


@app.command(name="list")
def listed(
    store: StoreOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
    limit: LimitOption = 50,
    cursor: CursorOption = None,
    json: JsonOption = False,
) -> None:
    """List the keys by id, including expired and revoked ones."""
    from gateleg.commands.printing import print_json, print_rows

    async def work(keys: "Keys", audit: "Audit") -> "Page[ApiKey]":
        return await keys.page(limit=limit, cursor=cursor)

    page = _with_keys(config, store, prefix, work)
    rows = [_row(key) for key in page]
    if json:
        print_json({"items": rows, "next": page.next})
    elif rows:
        print_rows(rows)
        if page.next:
            typer.echo(f"More: --cursor {page.next}", err=True)
    else:
        typer.echo("No keys: a host on this store listens on loopback only, and takes its token (`gateleg token`).")


def _row(key: "ApiKey") -> dict[str, str]:
    over = key.ends_at is not None and key.ends_at <= datetime.now(UTC)
    return {
        "id": key.key_id,
        "name": key.name,
        "role": key.role,
        "groups": ", ".join(sorted(key.groups or ())),
        "tenant": key.tenant or "",
        "state": "revoked" if key.revoked_at else "expired" if over else "good",
        "created": f"{key.created_at:%Y-%m-%d}",
        "ends": f"{key.ends_at:%Y-%m-%d}" if key.ends_at else "",
        "last used": f"{key.used_at:%Y-%m-%d %H:%M}" if key.used_at else "",
    }


@app.command()
def revoke(
    key_id: Annotated[str, typer.Argument(help="The key's id, as `gateleg keys list` shows it.")],
    store: StoreOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
) -> None:
    """Revoke a key. Hosts reject it within a second and end its sessions."""

    async def work(keys: "Keys", audit: "Audit") -> "ApiKey":
        key = await keys.revoke(key_id, by="command line")
        await audit.note(command_line_principal(), "key.revoke", key_id, name=key.name)
        return key

    key = _with_keys(config, store, prefix, work)
    typer.echo(f"{key.key_id} ({key.name}) is revoked")


def command_line_principal() -> Any:
    """The user of the command, who is an admin."""
    from gateleg.host import Principal, Role

    return Principal("command line", Role.ADMIN)
