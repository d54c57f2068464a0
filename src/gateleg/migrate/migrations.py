"""Numbered migrations: what changes between two layouts of an application's data, in code, one module each.

    # shop/migrations/m0003_orders_by_customer.py
    migration = Migration(3, "orders-by-customer", moves=(orders_move,))

The application names the package: `Application(..., migrations="shop.migrations")`.

Pause a migration on any host: work stops after the current page or before the next step.

Plans: the steps that a service can take, and the differences that only a new table would resolve.
"""

from __future__ import annotations

import importlib
import itertools
import pkgutil
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from gateleg.migrate import ledger
from gateleg.migrate.errors import BadMigration, MigrationRefused, Paused
from gateleg.migrate.moves.control import set_paused
from gateleg.migrate.moves.declaration import Phase
from gateleg.migrate.moves.tables import MigrationRecord
from gateleg.store import NotFound
from gateleg.store.operations.reads import Find
from gateleg.store.operations.write_operation import Patch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pydantic import BaseModel

    from gateleg.migrate.moves.declaration import KeyMove, MoveStage
    from gateleg.migrate.shapes import Wire
    from gateleg.model import Ref, Table
    from gateleg.store import Store
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup

__all__ = ["check_paused", "check_stage", "pause", "resume", "stages_of"]


_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_RULE = "Use a number from 1 to 999999, and a name of up to 64 lower-case letters, digits and hyphens."
#: How modules with a migration are named, and names that were probably meant so.
_NAMED = re.compile(r"m\d{4}")
_ALMOST = re.compile(r"[mM]?_?\d")


@dataclass(frozen=True, eq=False)
class Migration:
    """One change of the data. Its parts are applied in the order of these fields, and undone in reverse."""

    number: int
    #: lower-case letters, digits and hyphens
    name: str
    about: str = ""
    #: tables to bring in line with their declaration: created, or given new indexes, whose backfill is awaited
    tables: tuple[Table, ...] = ()
    #: entities whose stored items are rewritten in place: changed types, renamed attributes, new index keys
    rewrites: tuple[type[BaseModel], ...] = ()
    #: entities whose items get another key or table
    moves: tuple[KeyMove, ...] = ()
    #: tables that `apply` reads or writes besides those above; those that do not exist are created
    uses: tuple[Table, ...] = ()
    #: any other code; must be idempotent
    apply: Callable[[Store], None] | None = None
    #: undoes `apply`
    undo: Callable[[Store], None] | None = None
    #: the phase in which its moves begin in an empty store: `cut-over` serves old and new code; declare `clean-up` after the clean-up
    deployed: Phase | str = Phase.CUT_OVER

    def __post_init__(self) -> None:
        """Validate number, name and phase."""
        if self.deployed not in (Phase.CUT_OVER, Phase.CLEAN_UP):
            raise BadMigration(
                f"deployed={str(self.deployed)!r} of the migration {self} is not a phase in which an empty store can begin.",
                fix="Leave it out while old code may run (cut-over); write deployed=Phase.CLEAN_UP once the migration is cleaned up.",
            )
        if not 1 <= self.number <= 999_999 or not _NAME.fullmatch(self.name):
            raise BadMigration(f"{self.number} {self.name!r} cannot be a migration's number and name.", fix=_RULE)

    def __str__(self) -> str:
        return f"{self.number:04d} {self.name}"


def in_order(migrations: Iterable[Migration]) -> tuple[Migration, ...]:
    """The migrations sorted by number. Raises `BadMigration` for duplicate numbers or names of moves."""
    found = tuple(sorted(migrations, key=lambda one: one.number))
    for one, next_one in itertools.pairwise(found):
        if one.number == next_one.number:
            raise BadMigration(f"Two migrations have the number {one.number}: {one.name} and {next_one.name}.")
    moves = [move.name for one in found for move in one.moves]
    twice = {name for name in moves if moves.count(name) > 1}
    if twice:
        raise BadMigration(f"Several moves have the name {', '.join(sorted(twice))}.")
    return found


def load_migrations(package: str) -> tuple[Migration, ...]:
    """The migrations of a package's modules, sorted by number.

    Raises `BadMigration` if there is no such package, or if a module is named or written like none of its migrations.
    """
    try:
        root = importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{package}.".startswith(f"{error.name}."):
            raise
        raise BadMigration(f"There is no package {package}, which should have the migrations.", fix="Correct its name.") from None
    if not hasattr(root, "__path__"):
        raise BadMigration(
            f"{package} is a module and not a package of migrations.", fix=f"Write each migration in {package}/m0001_....py."
        )
    found: list[Migration] = []
    for entry in pkgutil.iter_modules(root.__path__):
        if _ALMOST.match(entry.name) and not _NAMED.match(entry.name):
            raise BadMigration(
                f"{package}.{entry.name} is not named like a migration, and would not be applied.",
                fix="Begin its name with m and four digits, as in m0001_orders_by_customer.",
            )
        if _NAMED.match(entry.name):
            module = importlib.import_module(f"{package}.{entry.name}")
            migration = getattr(module, "migration", None)
            if not isinstance(migration, Migration):
                raise BadMigration(f"{module.__name__} has no `migration`.")
            found.append(migration)
    return in_order(found)


def stages_of(one: Migration, stage: str | None) -> list[tuple[KeyMove, MoveStage]]:
    """The stages of a migration's moves: all, or those with a name."""
    return [(move, which) for move in one.moves for which in move.stages if stage in (None, which.name)]


def check_stage(migrations: Sequence[Migration], stage: str | None) -> None:
    """Raise `MigrationRefused` if no migration has a stage with that name."""
    if stage is not None and not any(stages_of(one, stage) for one in migrations):
        names = dict.fromkeys(which.name for one in migrations for _, which in stages_of(one, None))
        raise MigrationRefused(f"There is no stage {stage!r}.", fix=f"Use one of {', '.join(names)}." if names else "Leave out the stage.")


def pause(application: str, one: Migration, by: str, setup: Setup, *, stage: str | None = None) -> Flow[None]:
    """Pause a migration, or one of its stages. Older code may do this too, because it harms nothing."""
    yield from _set(application, one, by, setup, paused=True, stage=stage)


def resume(
    application: str, migrations: Sequence[Migration], one: Migration, by: str, setup: Setup, *, stage: str | None = None
) -> Flow[None]:
    """Resume a migration; it continues when somebody applies it. Raises `CodeOlder` as `apply` does."""
    yield from ledger.check_code(application, migrations, setup)
    yield from _set(application, one, by, setup, paused=False, stage=stage)


def check_paused(application: str, one: Migration, setup: Setup) -> Flow[None]:
    """Raise `Paused` if a migration is paused."""
    record: MigrationRecord | None = yield from Find(_ref(application, one), consistent=True).flow(setup)
    if record is not None and record.paused:
        raise Paused(f"{one} is paused.")


def _set(application: str, one: Migration, by: str, setup: Setup, *, paused: bool, stage: str | None) -> Flow[None]:
    check_stage([one], stage)
    for move, which in stages_of(one, stage):
        yield from set_paused(move, which, paused, setup, by=by)
    if stage is None or not paused:
        # Resuming a stage also resumes its migration.
        try:
            yield from Patch(_ref(application, one), (MigrationRecord.paused.set(paused),), returning="none").flow(setup)
        except NotFound:
            if not one.moves:
                raise MigrationRefused(f"{one} has not begun.", fix="There is nothing to pause.") from None
    yield from ledger.log(application, one, "pause" if paused else "resume", by, setup)


def _ref(application: str, one: Migration) -> Ref[MigrationRecord]:
    return MigrationRecord.key(application=application, number=one.number)


Action = Literal[
    "create-table",
    "delete-table",
    "create-index",
    "delete-index",
    "change-billing",
    "change-stream",
    "change-ttl",
    "change-protection",
    "change-recovery",
    "change-tags",
]


@dataclass(frozen=True)
class Step:
    """One request on the way from the deployed table to the declared one."""

    #: the physical table name
    table: str
    action: Action
    title: str
    operation: str
    request: Wire
    #: what would be lost, to be confirmed first; empty if nothing
    loses: str = ""
    #: further information
    note: str = ""

    def data(self) -> dict[str, Any]:
        """The step as JSON data."""
        members = {"action": self.action, "title": self.title, "operation": self.operation, "request": self.request}
        return members | {"loses": self.loses or None, "note": self.note or None}


@dataclass(frozen=True)
class Plan:
    """The steps for one table."""

    table: str
    exists: bool
    steps: tuple[Step, ...] = ()
    #: differences that require a new table
    rebuild: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    #: approximate number of items
    items: int = 0

    @property
    def done(self) -> bool:
        """Whether the deployed table matches its declaration."""
        return not self.steps and not self.rebuild

    @property
    def state(self) -> Literal["missing", "needs a new table", "differs", "in sync"]:
        """How the table compares with its declaration."""
        if not self.exists:
            return "missing"
        if self.rebuild:
            return "needs a new table"
        return "differs" if self.steps else "in sync"

    def data(self) -> dict[str, Any]:
        """The plan as JSON data."""
        return {
            "table": self.table,
            "state": self.state,
            "items": self.items,
            "steps": [step.data() for step in self.steps],
            "needs_new_table": list(self.rebuild),
            "notes": list(self.notes),
        }
