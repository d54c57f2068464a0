"""`plan`, `status` and `errors`."""

import json as json_text
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateleg.cli.migrate.migrator_connection import ApplicationArgument, NumberArgument, StageOption, open_migrator, with_migrations
from gateleg.commands.options import ConfigOption, JsonOption, PrefixOption, StoreOption
from gateleg.commands.printing import FAILED, print_json

if TYPE_CHECKING:
    from gateleg.migrate import MigrationStatus


def plan(
    application: ApplicationArgument,
    samples: Annotated[int, typer.Option(min=0, help="Sample items to show per move, before and after.")] = 1,
    check_items: Annotated[
        bool, typer.Option("--check-items", help="Convert every old item and list those that cannot be moved; reads the whole old tables.")
    ] = False,
    store: StoreOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Show what `apply` would do, with samples of items before and after, and what would stop it. Changes nothing.

    Exits with 1 if `apply` would be refused, or if items cannot be moved.
    """
    with open_migrator(application, config, store, prefix) as migrator:
        problems = {one.number: found for one, found in migrator.problems().items()}
        shown: list[dict[str, Any]] = [
            {
                "number": one.number,
                "name": one.name,
                "steps": todo,
                "problems": problems.get(one.number, []),
                "samples": migrator.samples(one.number, samples) if samples and one.number not in problems else [],
                "faults": migrator.faults(one.number) if check_items and one.number not in problems else [],
            }
            for one, todo in migrator.plan()
        ]
    if json:
        print_json(shown)
    else:
        for entry in shown:
            _show_plan(entry)
        if not shown:
            typer.echo("Nothing to apply.")
    if any(entry["problems"] or entry["faults"] for entry in shown):
        raise typer.Exit(FAILED)


def _show_plan(entry: dict[str, Any]) -> None:
    typer.echo(f"{entry['number']:04d} {entry['name']}")
    for step in entry["steps"]:
        typer.echo(f"  {step}")
    for one in entry["samples"]:
        typer.echo(f"  before  {one['from_table']}  {_line(one['before'])}")
        typer.echo(f"  error   {one['error']}" if "error" in one else f"  after   {one['to_table']}  {_line(one['after'])}")
    for one in entry["faults"]:
        typer.echo(f"  cannot be moved: {one['error']}")
    if entry["problems"]:
        typer.echo("  apply would be refused:")
    for problem in entry["problems"]:
        typer.echo(f"    {problem}")


def _line(item: Any) -> str:
    return json_text.dumps(item, ensure_ascii=False)


def status(
    application: Annotated[str | None, typer.Argument(help="The application that has the migrations; all by default.")] = None,
    store: StoreOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Show where every migration stands: phases, progress with rate and time left, and items that could not be moved."""
    names = [application] if application is not None else with_migrations(config, store, prefix)
    found: dict[str, list[MigrationStatus]] = {}
    for name in names:
        with open_migrator(name, config, store, prefix) as migrator:
            found[name] = migrator.status()
    if json:
        shown = {name: [vars(one) for one in statuses] for name, statuses in found.items()}
        print_json(shown if application is None else shown[application])
        return
    for name, statuses in found.items():
        if application is None:
            typer.echo(f"{name}:")
        for one in statuses:
            _show(one)
            if not one.in_code:
                warning = f"{name} has {one.number:04d} {one.name} in its data but not in its code: use the release that has them"
                typer.echo(f"gateleg: {warning}", err=True)
    if not found:
        typer.echo("No installed application has migrations.")


def errors(
    application: ApplicationArgument,
    number: NumberArgument,
    stage: StageOption = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Items of each stage to list.")] = 100,
    after: Annotated[str | None, typer.Option(help="Continue after an earlier page: the cursor that it ended with.")] = None,
    store: StoreOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """List the items that could not be moved or that differ, each with the reason. `repeat` tries them again."""
    with open_migrator(application, config, store, prefix) as migrator:
        found, cursor = migrator.errors(number, stage=stage, limit=limit, after=after)
    if json:
        print_json({"items": found, "next": cursor})
        return
    for one in found:
        typer.echo(f"{one['move']}, {one['stage']}: {one['reason']} {one['side']} {one['key']}: {one['why']}")
    if cursor is not None:
        typer.echo(f"More: --after {cursor}")
    if not found:
        typer.echo("No failed items.")


def _show(one: "MigrationStatus") -> None:
    from gateleg.migrate.moves.passes import describe_progress

    state = f"{one.state}, paused" if one.paused else one.state
    when = f", {one.changed_at:%Y-%m-%d %H:%M:%S} by {one.changed_by}" if one.changed_at else ""
    typer.echo(f"{one.number:04d} {one.name}: {state}{when}")
    if one.interrupted:
        typer.echo("  interrupted: the process that worked on it stopped before the end; run its command again to continue")
    if one.held_by is not None:
        typer.echo(f"  {one.held_by} works on it; if that process was killed, another one can continue at {one.held_until:%H:%M:%S} UTC")
    if one.error:
        typer.echo(f"  {one.error}")
    for stage in one.stages:
        words = [stage["phase"]]
        words += ["paused"] if stage["paused"] else []
        words += ["verified"] if stage["verified"] else ["not verified"] if stage["verified"] is False else []
        if stage["old_used_seconds_ago"] is not None:
            words.append(f"the old entity was used {stage['old_used_seconds_ago']:.0f} s ago")
        typer.echo(f"  {stage['move']}, {stage['stage']}: {', '.join(words)}")
        for task, progress in stage["passes"].items():
            typer.echo(f"    {task}: {describe_progress(progress)}")
        for error in stage["errors"]:
            typer.echo(f"    {error['reason']} {error['side']} {error['key']}: {error['why']}")
