"""`check`."""

import json as text
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateleg.cli.installed import settings_of_tables
from gateleg.cli.tables.declared import load_tables
from gateleg.commands.failures import FAILED
from gateleg.commands.opening import opened
from gateleg.commands.options import ConfigOption, JsonOption, OnlyOption, PrefixOption, StoreOption, TablesOption
from gateleg.commands.printing import count, print_json

if TYPE_CHECKING:
    from gateleg.migrate import ConsistencyReport
    from gateleg.model import Item

#: the maximum number of findings of a kind that are printed
_MAX_SHOWN = 20


def check(
    store: StoreOption = None,
    tables: TablesOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
    only: OnlyOption = None,
    fix: Annotated[bool, typer.Option("--fix", help="Correct counters, write missing markers, and delete those without an item.")] = False,
    read_units: Annotated[float | None, typer.Option(min=0.1, help="Maximum read units per second.")] = None,
    json: JsonOption = False,
) -> None:
    """Compare counters and unique markers with their items; exits with 1 if something is wrong. Safe beside concurrent writers.

    Reads the whole tables, twice if something looks wrong.
    """
    from gateleg.migrate import check_consistency

    settings = settings_of_tables(config, store=store, prefix=prefix, tables=tables)
    declared = load_tables(settings, only)
    with opened(settings) as target:
        report = check_consistency(target, declared, fix=fix, read_units=read_units)
    if json:
        print_json(_as_json(report))
    else:
        _print(report, fix)
    if not report.sound:
        raise typer.Exit(FAILED)


def _key(key: "Item") -> str:
    return text.dumps({name: next(iter(value.values())) for name, value in key.items()}, ensure_ascii=False)


def _as_json(report: "ConsistencyReport") -> dict[str, Any]:
    counts = [
        {"table": wrong.table.name, "key": wrong.key, "attribute": f"{wrong.entity}.{wrong.attribute}"}
        | {"stored": wrong.stored, "counted": wrong.counted}
        for wrong in report.counts
    ]
    markers = [
        {"kind": wrong.kind, "table": wrong.table.name, "key": wrong.key, "holders": list(wrong.holders)} for wrong in report.markers
    ]
    faults = [{"key": fault.key, "why": fault.why} for fault in report.faults]
    return {
        "seen": report.seen,
        "fixed": report.fixed,
        "counts": counts,
        "markers": markers,
        "orphans": report.orphans,
        "faults": faults,
    }


def _print(report: "ConsistencyReport", fix: bool) -> None:
    lines = [
        f"{wrong.entity}.{wrong.attribute} of {_key(wrong.key)} is {wrong.stored}, but there are {wrong.counted}" for wrong in report.counts
    ]
    texts = {
        "missing": "the marker {key} of {holders} is missing",
        "orphaned": "no item has the values of the marker {key}",
        "shared": "several items have the values of the marker {key}: {holders}; change all but one of them",
    }
    for wrong in report.markers:
        holders = ", ".join(map(_key, wrong.holders))
        lines.append(f"{wrong.table.name}: {texts[wrong.kind].format(key=_key(wrong.key), holders=holders)}")
    lines += [f"{_key(fault.key)} cannot be read: {fault.why}" for fault in report.faults]
    for line in lines[:_MAX_SHOWN]:
        typer.echo(line)
    if len(lines) > _MAX_SHOWN:
        typer.echo(f"and {len(lines) - _MAX_SHOWN:,} more (--json prints all)")
    if report.orphans:
        typer.echo(f"{count(report.orphans, 'item')} counted in a parent that does not exist; delete those that are not needed")
    done = f", {report.fixed:,} corrected" if fix else ""
    typer.echo(f"{count(report.seen, 'item')} read, {len(lines):,} wrong{done}")
