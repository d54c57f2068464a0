"""`gateleg webhooks`: addresses that events of applications are sent to, and their deliveries."""

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateleg.cli.action_commands import acting, add_actions
from gateleg.cli.commands import HELP
from gateleg.cli.host_runner import explain
from gateleg.commands.opening import settings_from
from gateleg.commands.options import AppOption, ConfigOption, JsonOption, LimitOption, PrefixOption, StoreOption
from gateleg.commands.printing import print_json, print_rows
from gateleg.host.actions.webhooks import WEBHOOK_ACTIONS, DeliveryView, WebhooksOf, WebhookView, administered_webhooks

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from pathlib import Path

    from pydantic import BaseModel

    from gateleg.host.actions.webhooks import WebhookPlace

app = typer.Typer(help=HELP["webhooks"], add_completion=False, no_args_is_help=True)

ApplicationArgument = Annotated[str, typer.Argument(help="The application whose events are sent.")]
TenantOption = Annotated[str | None, typer.Option(help="The tenant; by default the application itself.")]
OwnerOption = Annotated[str | None, typer.Option(help="A member's own webhooks: tenant and name, such as `acme/ann`.")]


def _read(
    whose: WebhooksOf,
    read: "Callable[[WebhookPlace], Coroutine[Any, Any, Sequence[BaseModel]]]",
    config: "Path | None",
    store: str | None,
    prefix: str | None,
    module: str | None,
) -> "Sequence[BaseModel]":
    settings = settings_from(config, store=store, prefix=prefix)

    async def run() -> "Sequence[BaseModel]":
        async with acting(settings, module) as call:
            return await read(administered_webhooks(call, whose))

    try:
        return asyncio.run(run())
    except Exception as error:
        explain(error, settings)


@app.command(name="list")
def listed(
    application: ApplicationArgument,
    tenant: TenantOption = None,
    owner: OwnerOption = None,
    store: StoreOption = None,
    prefix: PrefixOption = None,
    module: AppOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """List the webhooks of an application, or of one of its tenants."""

    async def read(place: "WebhookPlace") -> "Sequence[BaseModel]":
        return [WebhookView.of(hook) for hook in await place.hooks.list(**place.key)]

    hooks = _read(WebhooksOf(application=application, tenant=tenant, owner=owner), read, config, store, prefix, module)
    _print(hooks, ("hook_id", "url", "events", "enabled", "created_by"), json, "No webhooks.")


@app.command()
def deliveries(
    application: ApplicationArgument,
    tenant: TenantOption = None,
    owner: OwnerOption = None,
    hook: Annotated[str | None, typer.Option(help="Only deliveries to this webhook.")] = None,
    limit: LimitOption = 50,
    store: StoreOption = None,
    prefix: PrefixOption = None,
    module: AppOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """List the deliveries of the last 30 days with their outcomes, newest first."""

    async def read(place: "WebhookPlace") -> "Sequence[BaseModel]":
        return [DeliveryView.of(delivery) for delivery in await place.hooks.deliveries(**place.key, hook_id=hook, limit=limit)]

    sent = _read(WebhooksOf(application=application, tenant=tenant, owner=owner), read, config, store, prefix, module)
    _print(sent, ("delivery_id", "event", "state", "attempts", "answered", "answer"), json, "No deliveries in the last 30 days.")


def _print(views: "Sequence[BaseModel]", columns: "Sequence[str]", json: bool, nothing: str) -> None:
    rows = [view.model_dump(mode="json") for view in views]
    if json:
        print_json(rows)
    elif rows:
        print_rows([{name: _text(row[name]) for name in columns} for row in rows], whole=True)
    else:
        typer.echo(nothing)


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)


add_actions(app, WEBHOOK_ACTIONS, "webhooks")
