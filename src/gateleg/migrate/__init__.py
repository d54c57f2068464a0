"""Migrate tables: compare deployed tables with declared ones, plan the steps, and apply them.

`plan_table(declared_shape(table), deployed)` is pure; `plan_of` inspects a store first; `apply` runs the steps. `backfill`
rewrites stored items for the current declaration of their entity; `check_consistency` compares counters and unique markers with the
items they refer to, and corrects them.

`KeyMove` declares that items of one entity become items of another, with another key or in another table; `store.moving(Moving([move]))` is
a store for clients of either entity, in every phase. A `Migration` has a number and consists of moves, rewrites and changed tables;
`Migrator` applies, verifies and undoes the migrations of an application.
"""

from gateleg.migrate.backfill import Fault, Report, backfill
from gateleg.migrate.consistency import ConsistencyReport, WrongCount, WrongMarker, check_consistency
from gateleg.migrate.diff import plan_table
from gateleg.migrate.errors import Unsettled
from gateleg.migrate.execution import Outcome, Watcher, apply, plan_of
from gateleg.migrate.ledger import MigrationStatus
from gateleg.migrate.migrations import Migration, Plan, Step, load_migrations
from gateleg.migrate.migrator import Migrator
from gateleg.migrate.moves.declaration import KeyMove, MoveStage, Phase
from gateleg.migrate.moves.passes import RateLimits
from gateleg.migrate.moves.registry import Moving
from gateleg.migrate.moves.steps import MoveOptions, Verification
from gateleg.migrate.moves.tables import migrations_table
from gateleg.migrate.shapes import Capacity, Deployed, TableSettings, TableShape, declared_shape, deployed_shape, inspect_table

__all__ = [
    "Capacity",
    "ConsistencyReport",
    "Deployed",
    "Fault",
    "KeyMove",
    "Migration",
    "MigrationStatus",
    "Migrator",
    "MoveOptions",
    "MoveStage",
    "Moving",
    "Outcome",
    "Phase",
    "Plan",
    "RateLimits",
    "Report",
    "Step",
    "TableSettings",
    "TableShape",
    "Unsettled",
    "Verification",
    "Watcher",
    "WrongCount",
    "WrongMarker",
    "apply",
    "backfill",
    "check_consistency",
    "declared_shape",
    "deployed_shape",
    "inspect_table",
    "load_migrations",
    "migrations_table",
    "plan_of",
    "plan_table",
]
