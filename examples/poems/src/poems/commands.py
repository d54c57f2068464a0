"""The commands of the application: `gateleg poems ...`."""

import asyncio
from typing import Annotated

import typer

from gateleg.commands import ConfigOption, JsonOption, StoreOption, open_resources, print_json, print_rows, settings_from
from gateleg.host import Principal, Role
from poems import service
from poems.tables import Poem

app = typer.Typer(no_args_is_help=True)


@app.callback()
def commands() -> None:
    """Poems."""


@app.command("list")
def list_poems(
    owner: Annotated[str, typer.Option(help="Whose poems.")] = "local",
    tenant: Annotated[str | None, typer.Option(help="The tenant that they belong to.")] = None,
    store: StoreOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Print the poems of somebody."""
    from poems.application import application

    settings = settings_from(config, store=store)

    async def read() -> list[Poem]:
        async with open_resources(application, settings) as resources:
            return await service.poems_of(resources, Principal(owner, Role.MEMBER, tenant=tenant))

    found = [{"title": poem.title, "lines": str(poem.lines)} for poem in asyncio.run(read())]
    if json:
        print_json(found)
    else:
        print_rows(found)
