"""`gateleg keys`: who may use a host."""

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import typer

from gateleg.cli.action_commands import add_actions
from gateleg.cli.commands import HELP
from gateleg.cli.host_runner import explain
from gateleg.commands.opening import CURSOR_KEY, require_store, settings_from
from gateleg.commands.options import ConfigOption, CursorOption, JsonOption, LimitOption, PrefixOption, StoreOption
from gateleg.host.actions.keys import KEY_ACTIONS

if TYPE_CHECKING:
    from gateleg.host.settings import Settings
    from gateleg.host.tables import ApiKey
    from gateleg.store import Page

app = typer.Typer(help=HELP["keys"], add_completion=False, no_args_is_help=True)


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

    settings = settings_from(config, store=store, prefix=prefix)
    require_store(settings)
    try:
        page = asyncio.run(_page(settings, limit, cursor))
    except Exception as error:
        explain(error, settings)
    rows = [_row(key) for key in page]
    if json:
        print_json({"items": rows, "next": page.next})
    elif rows:
        print_rows(rows)
        if page.next:
            typer.echo(f"More: --cursor {page.next}", err=True)
    else:
        typer.echo("No keys: a host on this store listens on loopback only, and takes its token (`gateleg token`).")


async def _page(settings: "Settings", limit: int, cursor: str | None) -> "Page[ApiKey]":
    from gateleg.host.credentials import Keys
    from gateleg.host.tables import TABLES
    from gateleg.store import AsyncStore

    async with AsyncStore.connect(settings.store, settings.prefix, cursor_key=CURSOR_KEY, table_names=settings.table_names) as opened:
        await opened.ensure_tables(*TABLES)
        return await Keys(opened).page(limit=limit, cursor=cursor)


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


add_actions(app, KEY_ACTIONS, "keys")
