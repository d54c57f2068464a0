"""`gateleg search`: what the console's search field finds, on the command line."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from gateleg.commands.options import ConfigOption, JsonOption, ObjectsOption, PrefixOption, StoreOption

if TYPE_CHECKING:
    from gateleg.host import Application
    from gateleg.host.search import SearchResults
    from gateleg.host.settings import Settings
    from gateleg.jobs.tables import TableNames

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
        found = asyncio.run(_search(settings, text, *_present(settings)))
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


async def _search(settings: "Settings", text: str, applications: "list[Application]", queues: "list[TableNames]") -> "SearchResults":
    from gateleg.host import LOCAL
    from gateleg.host.host import Host
    from gateleg.host.queues import RecentJobs
    from gateleg.jobs import AsyncQueue

    async with Host.open(settings, applications, prepare=False, tolerant=True, visiting=True) as host:
        context = host.queue.context
        queue = AsyncQueue(host.store, context.jobs, context.settings, tables=queues[0], further=queues[1:])
        return await replace(host, queue=queue, recent_jobs=RecentJobs(queue)).search(LOCAL, text)


def _present(settings: "Settings") -> "tuple[list[Application], list[TableNames]]":
    """The installed applications whose tables the store has, and the queue tables that it has: the others have nothing to find."""
    from gateleg.cli.installed import find_installed
    from gateleg.cli.jobs.queue_connection import existing_tables
    from gateleg.commands.opening import opened
    from gateleg.jobs.tables import PLAIN

    with opened(settings) as store:
        applications = [
            application
            for application in find_installed(settings).applications
            if all("MISSING" not in store.table_states(table).values() for table in application.tables)
        ]
        return applications, existing_tables(settings, None, store) or [PLAIN]
