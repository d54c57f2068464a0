"""`browse` and `query`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateleg.cli.failures import MISUSED, fail
from gateleg.cli.tables.declared import find_entity, find_pattern, find_table, load_tables, read_arguments
from gateleg.cli.tables.opening import opened
from gateleg.cli.tables.options import (
    DEFAULT_STORE,
    ArgumentsOption,
    CursorOption,
    JsonOption,
    LimitOption,
    PrefixOption,
    StoreOption,
    TablesOption,
)
from gateleg.cli.tables.printing import console, print_json, print_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.model import Access, Item, Spec, Table
    from gateleg.store import Store


def browse(
    table: Annotated[str, typer.Argument(help="A table, or an entity of a declared one.")],
    store: StoreOption = DEFAULT_STORE,
    tables: TablesOption = None,
    prefix: PrefixOption = "",
    entity: Annotated[str | None, typer.Option("--entity", "-e", help="Only items of this entity.")] = None,
    limit: LimitOption = 20,
    cursor: CursorOption = None,
    json: JsonOption = False,
) -> None:
    """Show items of a table as they are stored, in no order. A table that is not declared is shown too."""
    from gateleg.ops.browsing import browse as look

    with opened(store, prefix) as source:
        found = named_table(source, table, tables, prefix)
        spec = find_entity(found, entity or table) if entity or any(spec.name == table for spec in found.specs) else None
        glimpse = look(source, found, spec=spec, limit=limit, cursor=cursor)
    if json:
        print_json({"items": _plain(glimpse.items), "cursor": glimpse.cursor})
        return
    _show(found, glimpse.items, glimpse.cursor, spec)
    if glimpse.examined > len(glimpse.items):
        console().print(f"{glimpse.examined:,} items were looked at.")


def named_table(store: "Store", name: str, modules: list[str] | None, prefix: str) -> "Table":
    """The table that a name means: a declared one, or one that is only deployed."""
    from gateleg.ops.browsing import found_table

    declared = find_table(load_tables(modules), name, prefix) if modules else None
    return declared or found_table(store, name.removeprefix(prefix))


def query(
    pattern: Annotated[str, typer.Argument(help="Entity.pattern or Table/pattern.")],
    store: StoreOption = DEFAULT_STORE,
    tables: TablesOption = None,
    prefix: PrefixOption = "",
    arg: ArgumentsOption = None,
    limit: LimitOption = 20,
    cursor: CursorOption = None,
    reverse: Annotated[bool, typer.Option("--reverse", help="In the opposite order.")] = False,
    count: Annotated[bool, typer.Option("--count", help="Only how many there are.")] = False,
    consistent: Annotated[bool, typer.Option("--consistent", help="Read what was written last; not on global indexes.")] = False,
    json: JsonOption = False,
) -> None:
    """Ask a declared pattern; its arguments are read as the attributes they name."""
    access = find_pattern(load_tables(tables), pattern)
    arguments = read_arguments(arg)
    missing = [name for name in access.required if name not in arguments and not _part_given(access, name, arguments)]
    if missing:
        fail(f"{access.name} needs {' '.join(f'--arg {name}=...' for name in missing)}", MISUSED)
    with opened(store, prefix) as source:
        asked = access(**arguments)
        asked = asked.reversed() if reverse else asked
        if count:
            number = source.count(asked, consistent=consistent)
            return print_json({"count": number}) if json else typer.echo(number)
        partial = access.plan.index.project != "all"
        page = source.page(asked, limit=limit, cursor=cursor, consistent=consistent, hydrate=partial)
    from gateleg.model import spec_of

    spec = spec_of(access.entity)
    items = [spec.encode(entry) for entry in page.items]
    if json:
        return print_json({"items": _plain(items), "cursor": page.next, "previous": page.previous})
    return _show(spec.table, items, page.next, spec)


def _part_given(access: "Access[Any]", name: str, arguments: dict[str, str]) -> bool:
    """Whether an argument that is a key part, or belongs to one, is given in the other way."""
    from gateleg.model import spec_of

    spec = spec_of(access.entity)
    return name in spec.arguments_of(arguments) or any(
        spec.sources[given].attribute == name for given in arguments if given in spec.sources
    )


def _plain(items: "Sequence[Item]") -> list[dict[str, Any]]:
    import json

    from gateleg.ops.plain import plain_text

    return [json.loads(plain_text(item)) for item in items]


def _show(table: "Table", items: "list[Item]", cursor: str | None, spec: "Spec[Any] | None") -> None:
    """Items as rows; keys that are derived from other attributes are left to --json."""
    if not items:
        typer.echo("No items." if cursor is None else "No items so far.")
    else:
        derived = spec.derived_names if spec is not None else frozenset[str]()
        rows = [{name: value for name, value in row.items() if name not in derived} for row in _plain(items)]
        first = [name for name in table.attributes if name not in derived]
        if spec is not None:
            first = list(
                dict.fromkeys([*first, *(spec.sources[name].wire for name in spec.key.names if spec.sources[name].wire in rows[0])])
            )
        print_rows(rows, first)
    if cursor is not None:
        typer.echo(f"More with --cursor {cursor}")
