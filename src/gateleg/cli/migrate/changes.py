"""`apply`, `verify`, `repeat`, `rollback`, `pause` and `resume`."""

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateleg.cli.migrate.migrator_connection import ApplicationArgument, NumberArgument, StageOption, open_migrator, submitted
from gateleg.commands.options import ConfigOption, JsonOption, PrefixOption, StoreOption
from gateleg.commands.printing import FAILED, MISUSED, fail, print_json

if TYPE_CHECKING:
    from gateleg.migrate import MoveOptions, Phase
    from gateleg.migrate.migrator import MigrationCallbacks

SegmentsOption = Annotated[int, typer.Option(min=1, max=10_000, help="Segments of a table to read in parallel.")]
ReadOption = Annotated[float | None, typer.Option("--read-units", min=0.1, help="Maximum read units per second.")]
WriteOption = Annotated[float | None, typer.Option("--write-units", min=0.1, help="Maximum write units per second.")]
LatencyOption = Annotated[
    float | None,
    typer.Option("--latency", min=0.0001, help="Seconds that requests, also of clients, may take on average; make way above it."),
]
SampleOption = Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of items that are compared one by one; sums are of all.")]
PhaseOption = Annotated[
    str, typer.Option("--phase", help="How far its moves go: dual-write, backfill, verify, dual-read, cut-over, clean-up.")
]


def apply(
    application: ApplicationArgument,
    number: Annotated[int | None, typer.Argument(help="The last migration to apply; all by default.")] = None,
    phase: PhaseOption = "cut-over",
    stage: StageOption = None,
    segments: SegmentsOption = 4,
    read_units: ReadOption = None,
    write_units: WriteOption = None,
    latency: LatencyOption = None,
    sample: SampleOption = 1.0,
    force: Annotated[bool, typer.Option("--force", help="Close old entities even if they were used recently.")] = False,
    soak: Annotated[float, typer.Option(min=0, help="Seconds to watch clients in each new phase before the next one.")] = 0.0,
    most_failures: Annotated[
        float, typer.Option("--max-failures", min=0, max=1, help="Share of clients' requests that may fail meanwhile.")
    ] = 0.01,
    most_seconds: Annotated[
        float | None, typer.Option("--max-seconds", min=0.0001, help="Seconds that a client's request may take on average meanwhile.")
    ] = None,
    queue: Annotated[bool, typer.Option("--queue", help="Run on a worker of the host: submit a job and print its id.")] = False,
    store: StoreOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
) -> None:
    """Apply what is pending, in order. May be stopped at any time and run again; `--phase clean-up` removes the old items in the end."""
    if queue:
        if sample < 1:
            fail("a job compares all items: omit --sample", MISUSED)
        task: dict[str, Any] = {"number": number, "phase": _phase(phase), "stage": stage, "segments": segments, "force": force}
        task |= {"read_units": read_units, "write_units": write_units, "latency": latency}
        task |= {"soak": soak, "most_failures": most_failures, "most_seconds": most_seconds}
        typer.echo(submitted(application, config, store, prefix, **task))
        return
    options = _move_options(segments, read_units, write_units, latency, sample, force)
    options = replace(options, soak=soak, most_failures=most_failures, most_seconds=most_seconds)
    with open_migrator(application, config, store, prefix, options=options, report=_report()) as migrator:
        done = migrator.apply(number=number, until=_phase(phase), stage=stage)
    typer.echo(
        "\n".join(f"{one} is applied as far as {phase}" if one.moves else f"{one} is applied" for one in done) or "Nothing to apply."
    )


def verify(
    application: ApplicationArgument,
    number: NumberArgument,
    stage: StageOption = None,
    segments: SegmentsOption = 4,
    read_units: ReadOption = None,
    sample: SampleOption = 1.0,
    fix: Annotated[bool, typer.Option("--fix", help="Remove copies under a key that no longer follows from their old item.")] = False,
    store: StoreOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Compare both sides of a migration's moves: counts, sums, and items one by one. Exits with 1 when something is wrong."""
    options = _move_options(segments, read_units, None, None, sample, False)
    with open_migrator(application, config, store, prefix, options=options, report=_report()) as migrator:
        found = migrator.verify(number, stage=stage, fix=fix)
    if json:
        print_json({place: vars(one) | {"holds": one.holds} for place, one in found.items()})
    else:
        for place, one in found.items():
            verdict = "agree" if one.holds else f"differ in {one.wrong:,} items" if one.wrong else "have other sums"
            typer.echo(f"{place}: {one.old:,} old and {one.new:,} new items {verdict}; {one.compared:,} were compared one by one")
    if not all(one.holds for one in found.values()):
        fail("the sides differ; `gateleg migrate status` names the items", FAILED)


def repeat(
    application: ApplicationArgument,
    number: NumberArgument,
    stage: StageOption = None,
    store: StoreOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
) -> None:
    """Retry the items that could not be copied, and compare those that differ again. Exits with 1 if some are left."""
    with open_migrator(application, config, store, prefix, report=_report()) as migrator:
        left = migrator.repeat(number, stage=stage)
    for place, count in left.items():
        typer.echo(f"{place}: {count:,} left")
    if any(left.values()):
        fail(f"items are left; `gateleg migrate errors {application} {number}` lists them", FAILED)


def rollback(
    application: ApplicationArgument,
    number: NumberArgument,
    phase: Annotated[str, typer.Option("--phase", help="The phase to go back to; off is the state before the migration.")] = "off",
    stage: StageOption = None,
    backup: Annotated[bool, typer.Option("--backup", help="Restore the tables from the backups that were made before.")] = False,
    at: Annotated[datetime | None, typer.Option(help="Restore the tables as they were at this time (UTC).")] = None,
    store: StoreOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
) -> None:
    """Undo a migration, or bring its moves back to an earlier phase; with `--backup` or `--at`, lose what was written since."""
    from datetime import UTC

    if (backup or at is not None) and (phase != "off" or stage is not None):
        fail("--backup and --at restore whole tables: omit --phase and --stage", MISUSED)
    with open_migrator(application, config, store, prefix, report=_report()) as migrator:
        if backup or at is not None:
            for table, counts in migrator.restore(number, at=None if at is None else at.replace(tzinfo=UTC)).items():
                typer.echo(f"{table}: {counts['items']:,} items, {counts['written']:,} written, {counts['deleted']:,} deleted")
        else:
            migrator.rollback(number, until=_phase(phase), stage=stage)
            typer.echo(f"{application} {number:04d} is back in {phase}")


def pause(
    application: ApplicationArgument,
    number: NumberArgument,
    stage: StageOption = None,
    store: StoreOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
) -> None:
    """Pause a migration after the current page, on whichever host it runs. Clients continue unchanged."""
    with open_migrator(application, config, store, prefix) as migrator:
        migrator.pause(number, stage=stage)


def resume(
    application: ApplicationArgument,
    number: NumberArgument,
    stage: StageOption = None,
    store: StoreOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
) -> None:
    """Resume a migration; `apply` then continues where it stopped."""
    with open_migrator(application, config, store, prefix) as migrator:
        migrator.pause(number, paused=False, stage=stage)


def _phase(text: str) -> "Phase":
    from gateleg.migrate import Phase

    try:
        return Phase(text)
    except ValueError:
        fail(f"unknown phase {text}; phases are {', '.join(Phase)}", MISUSED)


def _move_options(
    segments: int, read_units: float | None, write_units: float | None, latency: float | None, sample: float, force: bool
) -> "MoveOptions":
    from gateleg.migrate import MoveOptions, RateLimits

    return MoveOptions(segments=segments, limits=RateLimits(read_units, write_units, latency), sample=sample, force=force)


def _report() -> "MigrationCallbacks":
    """Prints each step, and the progress of passes about once a second."""
    import time

    from gateleg.migrate.migrator import MigrationCallbacks
    from gateleg.migrate.moves.passes import describe_progress

    last_printed = [0.0]

    def progress(task: str, found: "dict[str, Any]") -> None:
        if time.monotonic() - last_printed[0] > 1 or found["done"]:
            last_printed[0] = time.monotonic()
            typer.echo(f"  {task}: {describe_progress(found)}", err=True)

    def step(text: str) -> None:
        typer.echo(text, err=True)

    return MigrationCallbacks(step=step, progress=progress)
