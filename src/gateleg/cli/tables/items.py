"""`browse`, `query` and `items show`.

`shell`.

`list`.
"""

import code
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateleg.cli.installed import settings_of_tables
from gateleg.cli.tables.declared import find_entity, find_pattern, find_table, load_tables, read_arguments, read_comparison
from gateleg.commands.opening import opened
from gateleg.commands.options import (
    ArgumentsOption,
    ConfigOption,
    CursorOption,
    JsonOption,
    LimitOption,
    OnlyOption,
    PrefixOption,
    StoreOption,
    TablesOption,
)
from gateleg.commands.printing import FAILED, MISUSED, console, count, fail, print_items, print_json, print_rows

if TYPE_CHECKING:
    from gateleg.host.settings import Settings
    from gateleg.model import Access, Item, Spec, Table
    from gateleg.store import Store


def browse(
    table: Annotated[str, typer.Argument(help="A table, or an entity of a declared one.")],
    store: StoreOption = None,
    tables: TablesOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
    entity: Annotated[str | None, typer.Option("--entity", "-e", help="Only items of this entity.")] = None,
    limit: LimitOption = 20,
    cursor: CursorOption = None,
    json: JsonOption = False,
) -> None:
    """Show the stored items of a table, declared or not, in no particular order."""
    from gateleg.ops.transfer import browse as look

    settings = settings_of_tables(config, store=store, prefix=prefix, tables=tables)
    with opened(settings) as source:
        found = named_table(source, table, settings)
        spec = find_entity(found, entity or table) if entity or any(spec.name == table for spec in found.specs) else None
        glimpse = look(source, found, spec=spec, limit=limit, cursor=cursor)
    if json:
        print_items(glimpse.items, cursor=glimpse.cursor)
        return
    _show(found, glimpse.items, glimpse.cursor, spec)
    if glimpse.examined > len(glimpse.items):
        console().print(f"{count(glimpse.examined, 'item')} examined.")


def named_table(store: "Store", name: str, settings: "Settings") -> "Table":
    """The table with a name: a declared one, or one that is only deployed."""
    from gateleg.ops.transfer import described_table

    declared = find_table(load_tables(settings), name, store.setup)
    return declared or described_table(store, name.removeprefix(settings.prefix))


def show(
    table: Annotated[str, typer.Argument(help="The table's name.")],
    key: Annotated[str, typer.Argument(help='Its key attributes as a JSON object: {"pk": {"S": "A"}}, or short {"pk": "A"}.')],
    store: StoreOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
) -> None:
    """Show one item as JSON, with the ETag that `change` and `delete` take."""
    import asyncio

    from gateleg.cli.action_commands import acting
    from gateleg.errors import GatelegError
    from gateleg.host.actions.items import ItemReply, ItemTarget, stored_item

    settings = settings_of_tables(config, store=store, prefix=prefix)

    async def read() -> ItemReply:
        async with acting(settings, with_tables=True) as call:
            return ItemReply.of(await stored_item(call, ItemTarget(table=table, key=key)))

    try:
        print_json(asyncio.run(read()).model_dump(mode="json"))
    except GatelegError as error:
        fail(str(error), FAILED)


def query(
    pattern: Annotated[str, typer.Argument(help="Entity.pattern or Table/pattern.")],
    store: StoreOption = None,
    tables: TablesOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
    arg: ArgumentsOption = None,
    where: Annotated[
        str | None, typer.Option("--where", "-w", help="Narrow the sort key: name>=value, name=low..high, name=start*.")
    ] = None,
    filter: Annotated[
        list[str] | None,
        typer.Option("--filter", "-f", help="Keep only matching items (name>=value) after reading; may be repeated."),
    ] = None,
    limit: LimitOption = 20,
    cursor: CursorOption = None,
    reverse: Annotated[bool, typer.Option("--reverse", help="Reverse the order.")] = False,
    only_count: Annotated[bool, typer.Option("--count", help="Print only the number of items.")] = False,
    consistent: Annotated[
        bool, typer.Option("--consistent", help="Use strongly consistent reads; not available on global indexes.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Run a declared access pattern; each argument is parsed as the attribute it names."""
    from gateleg.model import ModelError, spec_of

    settings = settings_of_tables(config, store=store, prefix=prefix, tables=tables)
    access = find_pattern(load_tables(settings), pattern)
    arguments = read_arguments(arg)
    missing = [name for name in access.required if name not in arguments and not _part_given(access, name, arguments)]
    if missing:
        fail(f"{access.name} needs {' '.join(f'--arg {name}=...' for name in missing)}", MISUSED)
    try:
        query = access(**arguments)
        if where is not None:
            query = query.where(read_comparison(access.entity, where))
        for comparison in filter or ():
            query = query.filter(read_comparison(access.entity, comparison))
    except ModelError as error:
        fail(str(error), MISUSED)
    query = query.reversed() if reverse else query
    with opened(settings) as source:
        if only_count:
            number = source.count(query, consistent=consistent)
            return print_json({"count": number}) if json else typer.echo(number)
        partial = access.plan.index.project != "all"
        page = source.page(query, limit=limit, cursor=cursor, consistent=consistent, hydrate=partial)
    spec = spec_of(access.entity)
    items = [spec.encode(entry) for entry in page.items]
    if json:
        return print_items(items, cursor=page.next, previous=page.previous)
    return _show(spec.table, items, page.next, spec, access.plan.names)


def _part_given(access: "Access[Any]", name: str, arguments: dict[str, str]) -> bool:
    """Whether a key argument, or a part of it, is given in the other way."""
    from gateleg.model import spec_of

    spec = spec_of(access.entity)
    return name in spec.arguments_of(arguments) or any(
        spec.sources[given].attribute == name for given in arguments if given in spec.sources
    )


def _show(table: "Table", items: "Sequence[Item]", cursor: str | None, spec: "Spec[Any] | None", first: Sequence[str] = ()) -> None:
    """Items as rows, grouped by entity; derived keys are only in the --json output."""
    groups: dict[Spec[Any] | None, list[Item]] = {}
    for item in items:
        groups.setdefault(spec or table.spec_for(item), []).append(item)
    for owner, group in groups.items():
        title = (owner.name if owner is not None else "Others") if len(groups) > 1 else None
        _show_group(table, owner, group, first, title)
    if not items:
        typer.echo("No items." if cursor is None else "No items so far.")
    if cursor is not None:
        typer.echo(f"More: --cursor {cursor}")


def _show_group(table: "Table", spec: "Spec[Any] | None", items: "Sequence[Item]", first: Sequence[str], title: str | None) -> None:
    from gateleg.ops.plain_json import value_text

    derived = spec.derived_names if spec is not None else frozenset[str]()
    rows = [{name: value_text(value) for name, value in item.items() if name not in derived} for item in items]
    names = [*table.attributes, *([spec.sources[name].wire for name in (*spec.key.names, *first)] if spec is not None else ())]
    present = {name for row in rows for name in row}
    print_rows(rows, [name for name in dict.fromkeys(names) if name in present], title)
    if title:
        typer.echo()


def shell(
    store: StoreOption = None,
    tables: TablesOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
    only: OnlyOption = None,
) -> None:
    """Open a Python prompt with the store and the declared entities at hand: `store.get(Job, job_id=...)`."""
    settings = settings_of_tables(config, store=store, prefix=prefix, tables=tables)
    declared = load_tables(settings, only)
    entities = {spec.name: spec.entity for table in declared for spec in table.specs}
    from gateleg.host.settings import format_setting

    with opened(settings) as target:
        banner = f"store = {format_setting(settings.store)}; entities: {', '.join(entities) or 'none'}"
        code.interact(banner, local={"store": target, **entities}, exitmsg="")


def listed(
    store: StoreOption = None,
    tables: TablesOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
    only: OnlyOption = None,
    json: JsonOption = False,
) -> None:
    """List the declared tables with their entities, and whether the store has them."""
    settings = settings_of_tables(config, store=store, prefix=prefix, tables=tables)
    declared = load_tables(settings, only)
    with opened(settings) as target:
        states = target.table_states(*declared)
        names = [target.setup.name_of(table) for table in declared]
    rows = [
        {"table": name, "state": states[name], "entities": ", ".join(spec.name for spec in table.specs)}
        for name, table in zip(names, declared, strict=True)
    ]
    if json:
        print_json({"items": rows})
    elif rows:
        print_rows(rows)
    else:
        typer.echo("No tables are declared.")
