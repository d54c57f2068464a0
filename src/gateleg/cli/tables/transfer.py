"""`export` and `import`.

`backfill`.
"""

import gzip
import json
import os
import shutil
import sys
import tempfile
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from gateleg.cli.installed import settings_of_tables
from gateleg.cli.tables.declared import load_tables
from gateleg.cli.tables.items import named_table
from gateleg.commands.opening import opened
from gateleg.commands.options import ConfigOption, CursorOption, JsonOption, PrefixOption, StoreOption, TablesOption
from gateleg.commands.printing import FAILED, MISUSED, count, fail, print_json
from gateleg.commands.printing import count as amount

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gateleg.migrate import Report
    from gateleg.model import Item, Spec, Table
    from gateleg.ops.transfer import LineReader
    from gateleg.store import Store
    from gateleg.store.operations import ScanProgress


PlainOption = Annotated[bool, typer.Option("--plain", help="Plain JSON instead of DynamoDB JSON.")]
#: the maximum number of problems printed
_MAX_PRINTED = 20
#: items between two lines of progress
_STEP = 10_000


def export(
    table: Annotated[str, typer.Argument(help="A table, declared or not.")],
    store: StoreOption = None,
    tables: TablesOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
    plain: PlainOption = False,
    cursor: CursorOption = None,
) -> None:
    """Write all items to standard output, one line of JSON each. If interrupted, it prints how to continue."""
    from gateleg.ops.transfer import position_of, stored_items

    settings = settings_of_tables(config, store=store, prefix=prefix, tables=tables)
    with opened(settings) as source:
        found = named_table(source, table, settings)
        start = position_of(source, found, cursor) if cursor else None
        items = source.iterate(stored_items(found, source.setup, start))
        _write(source, found, items, plain)


def _write(store: "Store", table: "Table", items: "Iterator[Item]", plain: bool) -> None:
    from gateleg.ops.transfer import line_of, position_after
    from gateleg.store import StoreError

    count, last = 0, None
    with _output() as output:
        try:
            for item in items:
                output.write(line_of(item, plain))
                count, last = count + 1, item
                if count % _STEP == 0:
                    typer.echo(amount(count, "item"), err=True)
            output.flush()
        except (StoreError, KeyboardInterrupt) as error:
            output.flush()
            why = "stopped" if isinstance(error, KeyboardInterrupt) else str(error)
            onward = f"; the rest follows with --cursor {position_after(store, table, last)}" if last else ""
            fail(f"{why}: {amount(count, 'item')} written{onward}")
    typer.echo(amount(count, "item"), err=True)


@contextmanager
def _output() -> "Iterator[IO[bytes]]":
    """Standard output as UTF-8 bytes, whatever the terminal's encoding. If it cannot be written, the command ends."""
    try:
        yield typer.get_binary_stream("stdout")
    except BrokenPipeError:
        # The reader has closed the pipe. Nothing may be written to it any more, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(FAILED) from None
    except OSError as error:
        fail(f"cannot write the output: {error.strerror or error}. It is incomplete: export again")


def load(
    table: Annotated[str, typer.Argument(help="A table, declared or not.")],
    store: StoreOption = None,
    tables: TablesOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
    plain: PlainOption = False,
    from_line: Annotated[int, typer.Option(min=1, help="Start at this line; an earlier run loaded the lines before it.")] = 1,
    check: Annotated[bool, typer.Option("--check", help="Only check the input; write nothing.")] = False,
) -> None:
    """Read items from standard input, one line of JSON each, and put them. All lines are checked first, by the model if there is one.

    The input may be compressed with gzip, as the data files of AWS exports are. If any line is invalid, nothing is written. Items with the
    same key are replaced.
    """
    from gateleg.ops.transfer import LineReader
    from gateleg.store.operations.tables import check_keys

    settings = settings_of_tables(config, store=store, prefix=prefix, tables=tables)
    with opened(settings) as target, _rewindable(typer.get_binary_stream("stdin")) as lines:
        reader = LineReader(named_table(target, table, settings), plain)
        target.drive(check_keys([reader.table], target.setup))
        total = _check(reader, lines)
        if check:
            typer.echo(f"{amount(total, 'item')}, no problems", err=True)
            return
        lines.seek(0)
        _load(target, reader, lines, total, from_line)


def _rewindable(stream: IO[bytes]) -> Any:
    """The stream, or a copy of it on disk if it is not seekable, without its compression."""
    from gateleg.export_format import uncompressed

    if stream.seekable():
        return uncompressed(stream)
    copy = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    shutil.copyfileobj(stream, copy)
    return uncompressed(copy)


def _check(reader: "LineReader", lines: IO[bytes]) -> int:
    """The number of items; invalid lines end the command before anything is written."""
    total, faults = 0, []
    try:
        for fault in reader.faults(lines):
            total += 1
            if fault is not None:
                faults.append(fault)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        fail(f"the input cannot be decompressed: {error}; nothing was written")
    for fault in faults[:_MAX_PRINTED]:
        typer.echo(f"line {fault.line}: {fault.why}", err=True)
    if len(faults) > _MAX_PRINTED:
        typer.echo(f"... and {len(faults) - _MAX_PRINTED:,} more", err=True)
    if faults:
        fail(f"{len(faults):,} of {amount(total, 'line')} are not valid items of {reader.table.name}; nothing was written", FAILED)
    return total


def _load(store: "Store", reader: "LineReader", lines: IO[bytes], total: int, first: int) -> None:
    from gateleg.ops.transfer import load as write
    from gateleg.store import StoreError

    done = reported = first - 1
    try:
        for done in write(store, reader, lines, first):
            if done - reported >= _STEP:
                typer.echo(f"line {done:,}", err=True)
                reported = done
    except (StoreError, KeyboardInterrupt) as error:
        why = "stopped" if isinstance(error, KeyboardInterrupt) else str(error)
        fail(f"{why}: lines up to {done:,} are loaded, later ones perhaps partly; continue with --from-line {done + 1}")
    typer.echo(amount(total, "item") + (f", from line {first:,} on" if first > 1 else ""), err=True)


#: the maximum number of problems printed


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
