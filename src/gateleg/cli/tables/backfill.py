"""`backfill`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateleg.cli.installed import settings_of_tables
from gateleg.cli.tables.declared import load_tables
from gateleg.commands.failures import FAILED, MISUSED, fail
from gateleg.commands.opening import opened
from gateleg.commands.options import ConfigOption, JsonOption, PrefixOption, StoreOption, TablesOption
from gateleg.commands.printing import count, print_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateleg.migrate import Report
    from gateleg.model import Spec, Table
    from gateleg.store.operations import ScanProgress

#: the maximum number of problems printed
_MAX_PRINTED = 20


def backfill(
    entity: Annotated[str, typer.Argument(help="An entity of the declared tables.")],
    store: StoreOption = None,
    tables: TablesOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only report what is left to do; exits with 1 if there is any.")] = False,
    segments: Annotated[int, typer.Option(min=1, max=1_000_000, help="Segments of the table to read in parallel.")] = 1,
    read_units: Annotated[float | None, typer.Option(min=0.1, help="Maximum read units per second.")] = None,
    write_units: Annotated[float | None, typer.Option(min=0.1, help="Maximum write units per second.")] = None,
    resume: Annotated[Path | None, typer.Option(help="Checkpoint file to resume from; deleted on completion.")] = None,
    json: JsonOption = False,
) -> None:
    """Bring all stored items of an entity up to its declaration: newer schemas, new index keys, moved keys. Safe beside concurrent
    writers.
    """
    from gateleg.migrate import backfill as bring_up
    from gateleg.store.operations import ScanProgress

    if dry_run and resume is not None:
        fail("--dry-run reads all items and cannot be combined with --resume", MISUSED)
    settings = settings_of_tables(config, store=store, prefix=prefix, tables=tables)
    spec = _entity(load_tables(settings), entity)
    progress = _kept(resume, spec.name) or ScanProgress.fresh(segments)
    report: Report | None = None
    with opened(settings) as target:
        try:
            for report in bring_up(target, spec.entity, progress=progress, read_units=read_units, write_units=write_units, dry_run=dry_run):
                _keep(resume, spec.name, progress)
                if not json and not report.done:
                    typer.echo(count(report.seen, "item"), err=True)
        finally:
            _keep(resume, spec.name, progress)
    assert report is not None
    _print_report(report, dry_run, json)


def _entity(tables: "Iterable[Table]", name: str) -> "Spec[Any]":
    from gateleg.model.types import did_you_mean

    specs = [spec for table in tables for spec in table.specs]
    found = next((spec for spec in specs if spec.name == name), None)
    if found is None:
        names = [spec.name for spec in specs]
        suggestion = did_you_mean(name, names, otherwise=f"Declared are {', '.join(names)}.")
        fail(f"unknown entity {name}. {suggestion}", MISUSED)
    return found


def _kept(file: Path | None, entity: str) -> "ScanProgress | None":
    from gateleg.store.operations import ScanProgress

    if file is None or not file.exists():
        return None
    try:
        kept = json.loads(file.read_text())
        progress = ScanProgress({int(number): start for number, start in kept["starts"].items()}, int(kept["segments"]))
        other = kept.get("entity", entity)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        fail(f"{file} is not a checkpoint file of a backfill", MISUSED)
    if other != entity:
        fail(f"{file} is a checkpoint of a backfill of {other}", MISUSED)
    return progress if progress.starts else None


def _keep(file: Path | None, entity: str, progress: "ScanProgress") -> None:
    """Write a checkpoint, atomically. It is deleted when the backfill is complete."""
    if file is None:
        return
    if not progress.starts:
        file.unlink(missing_ok=True)
        return
    new = file.with_name(f"{file.name}.new")
    new.write_text(json.dumps({"entity": entity, "segments": progress.segments, "starts": progress.starts}))
    new.replace(file)


def _print_report(report: "Report", dry_run: bool, as_json: bool) -> None:
    left = report.rewritten + report.moved
    if as_json:
        faults = [{"key": fault.key, "why": fault.why} for fault in report.faults]
        print_json({"seen": report.seen, "rewritten": report.rewritten, "moved": report.moved, "faults": faults})
    else:
        verb = "to be " if dry_run else ""
        typer.echo(f"{count(report.seen, 'item')} seen, {report.rewritten:,} {verb}rewritten, {report.moved:,} {verb}moved")
    for fault in report.faults[:_MAX_PRINTED]:
        typer.echo(f"{json.dumps(fault.key, ensure_ascii=False)}: {fault.why}", err=True)
    if report.faults:
        fail(f"{count(len(report.faults), 'item')} cannot be brought up to date")
    if dry_run and left:
        raise typer.Exit(FAILED)
