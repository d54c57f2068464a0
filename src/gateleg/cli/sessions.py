"""`gateleg sessions`: who is signed in to a host."""

from datetime import UTC
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from gateleg.cli.action_commands import command_line_principal
from gateleg.commands.opening import settings_from
from gateleg.commands.options import ConfigOption, CursorOption, JsonOption, LimitOption, PrefixOption, StoreOption

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from gateleg.host.audit import Audit
    from gateleg.host.sessions import LiveSession, Sessions
    from gateleg.host.settings import Settings
    from gateleg.net import Secret
    from gateleg.store import Page

R = TypeVar("R")

app = typer.Typer(help="Sessions of browsers: list and end them.", add_completion=False, no_args_is_help=True)


def _with_sessions(
    config: "Path | None", store: str | None, prefix: str | None, work: "Callable[[Sessions, Audit], Coroutine[Any, Any, R]]"
) -> R:
    """Do something with the sessions in the store of the settings."""
    import asyncio

    from gateleg.cli.host_runner import explain
    from gateleg.commands.opening import CURSOR_KEY, require_store
    from gateleg.host.audit import Audit
    from gateleg.host.credentials import Keys
    from gateleg.host.openid import OpenIdSettings
    from gateleg.host.sessions import Sessions
    from gateleg.host.tables import TABLES
    from gateleg.store import AsyncStore

    settings = settings_from(config, store=store, prefix=prefix)
    require_store(settings)

    async def run() -> R:
        async with AsyncStore.connect(settings.store, settings.prefix, cursor_key=CURSOR_KEY, table_names=settings.table_names) as opened:
            await opened.ensure_tables(*TABLES)
            openid = settings.section("oidc", OpenIdSettings)
            return await work(
                Sessions(opened, Keys(opened), _secret(settings), settings, openid if openid.issuer else None),
                Audit(opened, days=settings.audit_days),
            )

    try:
        return asyncio.run(run())
    except Exception as error:
        explain(error, settings)


def _secret(settings: "Settings") -> "Secret":
    """The host's secret; on a machine that does not have it, sessions of the host's token are not listed."""
    from gateleg.host.host_secret import SecretMissing
    from gateleg.net import Secret

    try:
        return settings.load_secret(make=False)
    except SecretMissing:
        return Secret(b"")


@app.command(name="list")
def listed(
    store: StoreOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
    limit: LimitOption = 50,
    cursor: CursorOption = None,
    json: JsonOption = False,
) -> None:
    """List the browsers that are signed in, with keys or as persons. Use the settings of the host, which decide who is still valid."""
    from gateleg.commands.printing import print_json, print_rows

    async def work(sessions: "Sessions", audit: "Audit") -> "Page[LiveSession]":
        return await sessions.page(limit=limit, cursor=cursor)

    page = _with_sessions(config, store, prefix, work)
    rows = [_row(live) for live in page]
    if json:
        print_json({"items": rows, "next": page.next})
        return
    if rows:
        print_rows(rows)
    else:
        typer.echo("Nobody is signed in." if page.next is None else "No valid session on this page.")
    if page.next:
        typer.echo(f"More: --cursor {page.next}", err=True)


def _row(live: "LiveSession") -> dict[str, str]:
    return {
        "id": live.session_id,
        "name": live.principal.name,
        "role": live.principal.role.word,
        "tenant": live.principal.tenant or "",
        "browser": live.browser[:60],
        "signed in": f"{live.created_at.astimezone(UTC):%Y-%m-%d %H:%M}",
        "last used": f"{live.seen_at.astimezone(UTC):%Y-%m-%d %H:%M}",
        "ends": f"{live.ends_at.astimezone(UTC):%Y-%m-%d %H:%M}",
    }


@app.command()
def revoke(
    session_id: Annotated[str | None, typer.Argument(help="The session's id, as `gateleg sessions list` shows it.")] = None,
    all_of: Annotated[
        str | None, typer.Option("--all-of", metavar="KEY", help="All sessions of a key or person: what its ids have before the dot.")
    ] = None,
    store: StoreOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
) -> None:
    """End a session. Hosts refuse it within a second."""
    if (session_id is None) == (all_of is None):
        raise typer.BadParameter("Name either the id of a session, or a key or person with --all-of.")

    async def work(sessions: "Sessions", audit: "Audit") -> str:
        if all_of is not None:
            revoked = await sessions.revoke_all(all_of)
            await audit.note(command_line_principal(), "session.revoke-all", all_of, revoked=revoked)
            return f"{revoked} sessions of {all_of} have ended"
        assert session_id is not None
        live = await sessions.revoke(session_id)
        await audit.note(command_line_principal(), "session.revoke", session_id, name=live.principal.name)
        return f"{session_id} ({live.principal.name}) has ended"

    typer.echo(_with_sessions(config, store, prefix, work))
