"""`export` and `import`."""

import gzip
import os
import shutil
import sys
import tempfile
import zlib
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from gateleg.cli.installed import settings_of_tables
from gateleg.cli.tables.items import named_table
from gateleg.commands.failures import FAILED, fail
from gateleg.commands.opening import opened
from gateleg.commands.options import ConfigOption, CursorOption, PrefixOption, StoreOption, TablesOption
from gateleg.commands.printing import count as amount

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateleg.model import Item, Table
    from gateleg.ops.transfer import LineReader
    from gateleg.store import Store

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
    from gateleg.ops.scan_pages import position_of
    from gateleg.ops.transfer import stored_items

    settings = settings_of_tables(config, store=store, prefix=prefix, tables=tables)
    with opened(settings) as source:
        found = named_table(source, table, settings)
        start = position_of(source, found, cursor) if cursor else None
        items = source.iterate(stored_items(found, source.setup, start))
        _write(source, found, items, plain)


def _write(store: "Store", table: "Table", items: "Iterator[Item]", plain: bool) -> None:
    from gateleg.ops.scan_pages import position_after
    from gateleg.ops.transfer import line_of
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
