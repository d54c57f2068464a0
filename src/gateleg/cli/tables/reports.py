"""`explain`, `docs` and `lint`.

`template`.

`mcp`.
"""

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateleg.cli.installed import settings_of_tables
from gateleg.cli.tables.changes import BillingOption, ProtectOption, RecoverOption, TagOption, read_properties
from gateleg.cli.tables.declared import find_pattern, load_tables, read_arguments
from gateleg.commands.opening import opened
from gateleg.commands.options import ArgumentsOption, ConfigOption, JsonOption, OnlyOption, PrefixOption, StoreOption, TablesOption
from gateleg.commands.printing import FAILED, MISUSED, console, count, fail, print_json

if TYPE_CHECKING:
    from gateleg.model.inspection import Finding
    from gateleg.ops import Explanation


def explain(
    pattern: Annotated[str, typer.Argument(help="Entity.pattern or Table/pattern.")],
    tables: TablesOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
    arg: ArgumentsOption = None,
    items: Annotated[int, typer.Option(min=1, help="Number of matching items to assume.")] = 100,
    size: Annotated[int, typer.Option(min=1, max=409_600, help="Item size in bytes to assume.")] = 1024,
    json: JsonOption = False,
) -> None:
    """Explain an access pattern: its index, key condition and order, the request, its cost, and remarks."""
    from gateleg.model import ModelError
    from gateleg.ops import explain as explained

    settings = settings_of_tables(config, prefix=prefix, tables=tables)
    access = find_pattern(load_tables(settings), pattern)
    try:
        values, names = read_arguments(arg), settings.table_names
        explanation = explained(access, values, items=items, item_bytes=size, prefix=settings.prefix, table_names=names)
    except ModelError as error:
        fail(str(error), MISUSED)
    if json:
        print_json(explanation.data())
    else:
        _show(explanation)


def _show(explanation: "Explanation") -> None:
    import json

    from rich.padding import Padding
    from rich.table import Table as Grid

    out = console()
    out.print(f"{explanation.pattern}: {explanation.title}", style="bold")
    if explanation.description:
        out.print(explanation.description)
    facts = Grid.grid(padding=(0, 3, 0, 0))
    facts.add_column(no_wrap=True, style="dim")
    facts.add_column(overflow="fold")
    for name, text in _facts(explanation):
        facts.add_row(name, text)
    out.print(Padding(facts, (1, 0), expand=False))
    shown = " (with sample arguments; pass your own with --arg)" if explanation.sampled else ""
    out.print(f"Request{'' if len(explanation.requests) == 1 else f' 1 of {len(explanation.requests)}'}{shown}", style="dim")
    typer.echo(json.dumps(explanation.requests[0], indent=2, ensure_ascii=False))
    out.print()
    for remark in explanation.remarks:
        out.print(f"• {remark}")


def _facts(explanation: "Explanation") -> list[tuple[str, str]]:
    cost = explanation.cost
    requests = count(cost.requests, "request")
    price = f"{cost.units:,g} read units in {requests} for {count(explanation.items, 'item')} of {count(explanation.item_bytes, 'byte')}"
    arguments = ", ".join([*explanation.required, *(f"[{name}]" for name in explanation.optional)])
    return [
        ("arguments", f"{arguments}   (in brackets: optional, from the right)" if explanation.optional else arguments),
        ("asks", f"{explanation.table}, {explanation.kind} {explanation.index}".rstrip()),
        ("keys", ", ".join(f"{attribute} = {form}" for attribute, form in explanation.keys.items())),
        ("condition", explanation.condition),
        ("order", explanation.order),
        ("cost", price + (f", and {cost.hydrate:,g} to read whole items" if cost.hydrate else "")),
        ("consistent", f"possible, for {cost.consistent:,g} read units" if cost.consistent is not None else "not possible"),
    ]


def docs(
    tables: TablesOption = None,
    config: ConfigOption = None,
    only: OnlyOption = None,
    out: Annotated[Path | None, typer.Option(help="Folder to write one file per table to; printed by default.")] = None,
    json: JsonOption = False,
) -> None:
    """Write the schema document of each table in Markdown: keys, indexes, attributes, states and access patterns, with diagrams."""
    declared = load_tables(settings_of_tables(config, tables=tables), only)
    if json:
        from gateleg.model.inspection import describe

        print_json([describe(table) for table in declared])
        return
    from gateleg.ops import document

    if out is None:
        typer.echo("\n".join(document(table) for table in declared), nl=False)
        return
    try:
        out.mkdir(parents=True, exist_ok=True)
        for table in declared:
            file = out / f"{table.name}.md"
            file.write_text(document(table), encoding="utf-8")
            typer.echo(str(file))
    except OSError as error:
        fail(f"cannot write to {out}: {error.strerror}")


def lint(
    tables: TablesOption = None,
    config: ConfigOption = None,
    only: OnlyOption = None,
    ignore: Annotated[list[str] | None, typer.Option(help="Skip a rule by its code; may be repeated.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 if there are findings.")] = False,
    json: JsonOption = False,
) -> None:
    """Find declarations that work but are probably mistakes: each finding has a code, a reason and a fix.

    Gateleg's own tables are left out unless --only names them.
    """
    from gateleg.model.inspection import WHY
    from gateleg.model.inspection import lint as remarks

    unknown = [code for code in ignore or () if code not in WHY]
    if unknown:
        fail(f"unknown rule {', '.join(unknown)}; rules are {', '.join(WHY)}", MISUSED)
    declared = load_tables(settings_of_tables(config, tables=tables), only, built_in=False)
    found = list(dict.fromkeys(finding for table in declared for finding in remarks(table) if finding.code not in (ignore or ())))
    if json:
        print_json([{**finding.__dict__, "why": finding.why} for finding in found])
    else:
        _show_findings(found, len(declared))
    if strict and found:
        raise typer.Exit(FAILED)


def _show_findings(found: "list[Finding]", tables: int) -> None:
    """The findings by rule: its explanation once, then each place."""
    from rich.padding import Padding

    out = console()
    by_code: dict[str, list[Finding]] = {}
    for finding in found:
        by_code.setdefault(finding.code, []).append(finding)
    for code, findings in by_code.items():
        out.print(code, style="bold")
        out.print(Padding(findings[0].why, (0, 0, 0, 2), expand=False), style="dim")
        for finding in findings:
            out.print(Padding(f"{finding.where}: {finding.message}", (0, 0, 0, 4), expand=False))
        for fix in dict.fromkeys(finding.fix for finding in findings):
            out.print(Padding(f"→ {fix}", (0, 0, 1, 4), expand=False))
    number = len(found)
    out.print(f"{count(number, 'remark') if number else 'No findings'} on {count(tables, 'table')}.")


class Language(StrEnum):
    """The tool that the template is for."""

    CLOUDFORMATION = "cloudformation"
    TERRAFORM = "terraform"
    REQUESTS = "requests"


def template(
    language: Annotated[Language, typer.Argument(help="cloudformation, terraform (a .tf.json file), or requests to create tables.")],
    tables: TablesOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
    only: OnlyOption = None,
    billing: BillingOption = "on-demand",
    protect: ProtectOption = None,
    recovery: RecoverOption = None,
    tag: TagOption = None,
) -> None:
    """Print the declared tables as JSON for infrastructure tools."""
    from gateleg.ops import NotExpressible, cloudformation, create_requests, terraform

    settings = settings_of_tables(config, prefix=prefix, tables=tables)
    declared = load_tables(settings, only)
    properties = read_properties(billing, protect, recovery, tag)
    try:
        if language is Language.CLOUDFORMATION:
            print_json(cloudformation(declared, properties, settings.prefix, settings.table_names))
        elif language is Language.TERRAFORM:
            print_json(terraform(declared, properties, settings.prefix, settings.table_names))
        else:
            print_json(create_requests(declared, properties, settings.prefix, settings.table_names))
    except NotExpressible as error:
        fail(str(error))


def mcp(
    store: StoreOption = None,
    tables: TablesOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
    only: OnlyOption = None,
) -> None:
    """Serve the declared access patterns to a language model, by the Model Context Protocol on standard input and output.

    It only reads, and only by declared patterns and keys. Hidden attributes are never returned.
    """
    from gateleg.ops import read_tools
    from gateleg.ops.tools import McpSession

    settings = settings_of_tables(config, store=store, prefix=prefix, tables=tables)
    declared = load_tables(settings, only)
    with opened(settings) as source:
        host = McpSession(source, read_tools(declared))
        for line in sys.stdin:
            if not line.strip():
                continue
            try:
                message = json.loads(line)
            except ValueError:
                message = None
            answer = host.answer(message)
            if answer is not None:
                sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")
                sys.stdout.flush()
