"""`gateleg models`: the usage of models."""

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from gateleg.commands.opening import settings_from
from gateleg.commands.options import ConfigOption, JsonOption, PrefixOption, StoreOption

app = typer.Typer(help="Models: their usage and cost.", add_completion=False, no_args_is_help=True)
_DAYS = ["%Y-%m-%d"]


@app.callback()
def models() -> None:
    """Keep `usage` a subcommand of `models`."""


@app.command()
def usage(
    since: Annotated[datetime | None, typer.Option(formats=_DAYS, help="The first day, in UTC; today by default.")] = None,
    until: Annotated[datetime | None, typer.Option(formats=_DAYS, help="The last day, in UTC; today by default.")] = None,
    application: Annotated[str | None, typer.Option(help="Only the usage of this application.")] = None,
    tenant: Annotated[str | None, typer.Option(help="Only the usage of this tenant.")] = None,
    store: StoreOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Print the model usage of applications by day, and its cost."""
    import asyncio

    from gateleg.ai import UsageDay
    from gateleg.ai.tables import usage_table
    from gateleg.cli.host_runner import explain
    from gateleg.commands.opening import require_store
    from gateleg.commands.printing import print_json, print_rows
    from gateleg.host.model_usage import read_usage
    from gateleg.store import AsyncStore

    settings = settings_from(config, store=store, prefix=prefix)
    require_store(settings)
    last = (until or datetime.now(UTC)).date()
    first = last if since is None else since.date()

    async def read() -> list[UsageDay]:
        async with AsyncStore.connect(settings.store, settings.prefix, table_names=settings.table_names) as opened:
            await opened.ensure_tables(usage_table)
            return await read_usage(opened, first, last, application=application, tenant=tenant)

    try:
        found = asyncio.run(read())
    except Exception as error:
        explain(error, settings)
    rows = [_row(one) for one in found]
    if json:
        print_json(rows)
    elif rows:
        print_rows(rows)
    else:
        typer.echo(f"No model usage from {first} to {last}.")


def _row(usage: Any) -> dict[str, str]:
    numbers = ("calls", "failed", "unpriced", "estimated", "input", "output", "cached", "requests", "images", "seconds")
    found = {"day": usage.day, "application": usage.application, "tenant": usage.tenant or "", "model": usage.model}
    unknown = usage.unpriced and usage.unpriced + usage.failed == usage.calls
    # The most important columns first: a narrow terminal omits the rest.
    return found | {"cost": "unknown" if unknown else f"{usage.cost:f}"} | {name: str(getattr(usage, name)) for name in numbers}
