"""`gateleg search`: what the console's search field finds, on the command line."""

from typing import TYPE_CHECKING, Annotated

import typer

from gateleg.commands.options import ConfigOption, JsonOption, ObjectsOption, PrefixOption, StoreOption

if TYPE_CHECKING:
    from gateleg.host.search import SearchResults
    from gateleg.host.settings import Settings

app = typer.Typer(add_completion=False)


@app.command()
def search(
    text: Annotated[str, typer.Argument(help="A name, an id, a key, or what a job is about.")],
    store: StoreOption = None,
    prefix: PrefixOption = None,
    objects: ObjectsOption = None,
    config: ConfigOption = None,
    limit: Annotated[int, typer.Option(min=1, help="The maximum number of results.")] = 50,
    json: JsonOption = False,
) -> None:
    """Search jobs, tables, items by key, objects, settings and applications, as an admin of the host."""
    import asyncio

    from gateleg.cli.host_runner import explain
    from gateleg.cli.installed import settings_of_tables
    from gateleg.commands.opening import require_store
    from gateleg.commands.printing import print_json, print_rows
    from gateleg.host.search import MAX_SEARCH_CHARACTERS, hit_fields

    if len(text.strip()) > MAX_SEARCH_CHARACTERS:
        raise typer.BadParameter(f"Search for at most {MAX_SEARCH_CHARACTERS} characters.", param_hint="TEXT")
    settings = settings_of_tables(config, store=store, prefix=prefix, objects=objects)
    require_store(settings)
    try:
        found = asyncio.run(_search(settings, text))
    except Exception as error:
        explain(error, settings)
    if found.skipped:
        typer.echo(f"Not searched, because it failed or took too long: {', '.join(found.skipped)}.", err=True)
    hits = found.hits[:limit]
    if json:
        print_json({"items": [hit_fields(hit) for hit in hits], "skipped": list(found.skipped)})
    elif hits:
        print_rows([{"kind": hit.kind, "title": hit.title, "about": hit.about, "page": hit.href} for hit in hits])
    else:
        typer.echo("Nothing found.")


async def _search(settings: "Settings", text: str) -> "SearchResults":
    from gateleg.cli.installed import find_installed
    from gateleg.host import LOCAL
    from gateleg.host.host import Host

    async with Host.open(settings, find_installed(settings).applications, prepare=False, tolerant=True) as host:
        return await host.search(LOCAL, text)
