"""Numbered migrations: what changes between two layouts of an application's data, in code, one module each.

    # shop/migrations/m0003_orders_by_customer.py
    migration = Migration(3, "orders-by-customer", moves=(orders_move,))

The application names the package: `Application(..., migrations="shop.migrations")`.
"""

from __future__ import annotations

import importlib
import itertools
import pkgutil
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateleg.migrate.errors import BadMigration
from gateleg.migrate.moves.phases import Phase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pydantic import BaseModel

    from gateleg.migrate.moves.declaration import KeyMove
    from gateleg.model import Table
    from gateleg.store import Store

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
