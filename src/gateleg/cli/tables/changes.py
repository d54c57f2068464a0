"""`plan`, `apply` and `drift`.

`check`.
"""

import json as text
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateleg.cli.installed import settings_of_tables
from gateleg.cli.tables.declared import load_tables
from gateleg.commands.opening import opened
from gateleg.commands.options import ConfigOption, JsonOption, OnlyOption, PrefixOption, StoreOption, TablesOption
from gateleg.commands.printing import FAILED, MISUSED, console, count, fail, print_json

if TYPE_CHECKING:
    from rich.console import Console

    from gateleg.host.settings import Settings
    from gateleg.migrate import ConsistencyReport, Outcome, Plan, Step
    from gateleg.migrate import TableSettings as Properties
    from gateleg.model import Item


BillingOption = Annotated[str, typer.Option(help="on-demand, READ/WRITE units such as 10/5, or keep what is there.")]
ProtectOption = Annotated[bool | None, typer.Option("--protect/--no-protect", help="Turn deletion protection of the tables on or off.")]
RecoverOption = Annotated[bool | None, typer.Option("--recovery/--no-recovery", help="Point-in-time recovery.")]
TagOption = Annotated[list[str] | None, typer.Option("--tag", help="key=value that every table is tagged with; may be repeated.")]

_SIGNS = {"in sync": "=", "missing": "+", "differs": "~", "needs a new table": "!"}


def plan(
    store: StoreOption = None,
    tables: TablesOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
    only: OnlyOption = None,
    billing: BillingOption = "on-demand",
    protect: ProtectOption = None,
    recovery: RecoverOption = None,
    tag: TagOption = None,
    delete_existing: Annotated[
        bool, typer.Option("--delete-existing", help="Plan to recreate tables that cannot be changed in place.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Compare the declared tables with the deployed ones: what would change, and what needs a new table. Changes nothing."""
    settings = settings_of_tables(config, store=store, prefix=prefix, tables=tables)
    plans = _plans(settings, only, read_properties(billing, protect, recovery, tag), FAILED, replace=delete_existing)
    if json:
        print_json([plan.data() for plan in plans])
        return
    _show(plans)


def drift(
    store: StoreOption = None,
    tables: TablesOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
    only: OnlyOption = None,
    billing: BillingOption = "on-demand",
    protect: ProtectOption = None,
    recovery: RecoverOption = None,
    tag: TagOption = None,
    json: JsonOption = False,
) -> None:
    """Exit with 0 when the deployed tables are the declared ones, with 1 when they differ, with 2 when that cannot be determined."""
    settings = settings_of_tables(config, store=store, prefix=prefix, tables=tables)
    plans = _plans(settings, only, read_properties(billing, protect, recovery, tag), MISUSED)
    different = [plan for plan in plans if not plan.done]
    if json:
        print_json([plan.data() for plan in different])
    elif different:
        _show(different)
    else:
        typer.echo(f"No drift in {count(len(plans), 'table')}.")
    if different:
        raise typer.Exit(FAILED)


def apply(
    store: StoreOption = None,
    tables: TablesOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
    only: OnlyOption = None,
    billing: BillingOption = "on-demand",
    protect: ProtectOption = None,
    recovery: RecoverOption = None,
    tag: TagOption = None,
    delete_existing: Annotated[
        bool,
        typer.Option("--delete-existing", help="Back up and delete tables that cannot be changed in place, and create them again, empty."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation, even before steps that lose data.")] = False,
    json: JsonOption = False,
) -> None:
    """Carry out the plan, step by step. Asks before a step that loses data; may be interrupted and run again."""
    from gateleg.migrate import Unsettled
    from gateleg.migrate import apply as carry_out

    settings = settings_of_tables(config, store=store, prefix=prefix, tables=tables)
    properties = read_properties(billing, protect, recovery, tag)
    declared = load_tables(settings, only)
    watcher = _ConsoleWatcher(console(), yes, quiet=json)
    outcomes: dict[str, Outcome] = {}
    with opened(settings, create=True) as target:
        for table in declared:
            try:
                outcomes[target.setup.name_of(table)] = carry_out(target, table, properties, watcher, replace=delete_existing)
            except Unsettled as error:
                fail(str(error))
    if json:
        print_json([_outcome_data(name, outcome) for name, outcome in outcomes.items()])
    _conclude(outcomes, quiet=json)


def _plans(settings: "Settings", only: list[str] | None, properties: "Properties", status: int, *, replace: bool = False) -> "list[Plan]":
    from gateleg.migrate import plan_of

    declared = load_tables(settings, only)
    with opened(settings, status=status) as target:
        return [plan_of(target, table, properties, replace=replace) for table in declared]


def read_properties(billing: str, protect: bool | None, recovery: bool | None, tags: list[str] | None) -> "Properties":
    """The table properties of the options."""
    from gateleg.migrate import Capacity
    from gateleg.migrate import TableSettings as Properties

    pairs = [tag.partition("=") for tag in tags or ()]
    if any(not key or not equals for key, equals, _ in pairs):
        fail("--tag takes key=value", MISUSED)
    given = {key: value for key, _, value in pairs}
    if billing in ("on-demand", "keep"):
        return Properties("keep" if billing == "keep" else "on-demand", protect, recovery, given)
    read, _, write = billing.partition("/")
    if not (read.isascii() and write.isascii() and read.isdigit() and write.isdigit() and int(read) and int(write)):
        fail("--billing takes on-demand, keep, or units such as 10/5", MISUSED)
    return Properties(Capacity(int(read), int(write)), protect, recovery, given)


def _show(plans: "list[Plan]") -> None:
    out = console()
    for plan in plans:
        out.print(f"{_SIGNS[plan.state]} {plan.table}: {plan.state}", style="bold" if not plan.done else None)
        for reason in plan.rebuild:
            out.print(f"    {reason}", style="red")
        for step in plan.steps:
            _show_step(out, step)
        for note in plan.notes:
            out.print(f"    note: {note}", style="dim")
    out.print(_summary(plans))


def _show_step(out: "Console", step: "Step") -> None:
    out.print(f"    {step.title}", style="yellow" if step.loses else None)
    for remark in filter(None, (step.loses, step.note)):
        out.print(f"        {remark}", style="dim")


def _summary(plans: "list[Plan]") -> str:
    stuck = [plan for plan in plans if plan.rebuild and not plan.steps]
    steps = sum(len(plan.steps) for plan in plans)
    if not steps and not stuck:
        return f"\nNothing to do: {count(len(plans), 'table')} as declared."
    parts = [f"{count(steps, 'step')} to apply: gateleg tables apply"] if steps else []
    if stuck:
        parts.append(
            f"{count(len(stuck), 'table')} to be recreated: gateleg tables apply --delete-existing, or move the data to a new name"
        )
    return "\n" + "\n".join(parts)


def _outcome_data(name: str, outcome: "Outcome") -> dict[str, Any]:
    left = outcome.left
    return {
        "table": name,
        "done": [step.data() for step in outcome.done],
        "declined": [step.data() for step in outcome.declined],
        "not_offered": [step.data() for step in outcome.unknown],
        "left": left.data() if left is not None and not left.done else None,
    }


def _conclude(outcomes: "dict[str, Outcome]", quiet: bool) -> None:
    """Print the result; exit with 1 if something is left to do."""
    done = sum(len(outcome.done) for outcome in outcomes.values())
    stuck = [name for name, outcome in outcomes.items() if outcome.left and outcome.left.rebuild and not outcome.declined]
    declined = sum(len(outcome.declined) for outcome in outcomes.values())
    if not quiet:
        typer.echo(f"{count(done, 'step')} taken." if done else "Nothing was changed.")
    for step in (step for outcome in outcomes.values() for step in outcome.unknown):
        typer.echo(f"{step.table}: skipped, this service does not support {step.operation}", err=True)
    if stuck:
        fail(f"{', '.join(stuck)}: needs a new table; see `gateleg tables plan`, and --delete-existing")
    if declined:
        fail(f"{count(declined, 'step')} declined")


class _ConsoleWatcher:
    """Prints progress, and asks for confirmation."""

    def __init__(self, out: "Console", yes: bool, quiet: bool) -> None:
        self.out = out
        self.yes = yes
        self.quiet = quiet
        self.last_text = ""

    def agree(self, step: "Step") -> bool:
        """Ask for confirmation, unless --yes was passed."""
        return self.yes or typer.confirm(f"{step.table}: {step.title}? {step.loses}", default=False, err=True)

    def begin(self, step: "Step") -> None:
        """Print one line for each step."""
        if not self.quiet:
            self.out.print(f"{step.table}: {step.title}")

    def waiting(self, text: str) -> None:
        """Print once what is being waited for."""
        if text != self.last_text and not self.quiet:
            self.out.print(f"    {text} ...", style="dim")
        self.last_text = text

    def end(self, step: "Step") -> None:
        """Print nothing."""

    def kept(self, name: str, backup: str | None) -> None:
        """Print where the data is now."""
        typer.echo(f"{name}: backed up as {backup}" if backup else f"{name}: this service offers no backups", err=True)


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
