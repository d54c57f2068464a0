"""Migrate tables: compare deployed tables with declared ones, plan the steps, and apply them.

`plan_table(declared_shape(table), deployed)` decides and is pure; `plan_of` looks at a store first; `apply` takes the steps. `backfill`
brings stored items up to the declaration of their entity; `check_consistency` compares counts and unique markers with the items they stand
for, and corrects them.

`KeyMove` declares that items of one entity become items of another, with another key or in another table; `store.moving(Moving([move]))` is
a store for clients of either, in every phase. A `Migration` has a number and consists of such moves, of rewrites and of changed tables;
`Migrator` applies, verifies and undoes the migrations of an application.
"""

from gateleg.migrate.applying import Outcome, Watcher, apply, plan_of
from gateleg.migrate.backfill import Fault, Report, backfill
from gateleg.migrate.consistency import ConsistencyReport, check_consistency
from gateleg.migrate.diff import plan_table
from gateleg.migrate.errors import Unsettled
from gateleg.migrate.inspecting import inspect_table
from gateleg.migrate.migrations import Migration, load_migrations
from gateleg.migrate.migrator import Migrator
from gateleg.migrate.moves.declaration import KeyMove, MoveStage
from gateleg.migrate.moves.moving import Moving
from gateleg.migrate.moves.passes import Pace
from gateleg.migrate.moves.phases import Phase
from gateleg.migrate.moves.steps import Conduct, Verification
from gateleg.migrate.moves.tables import migrations_table
from gateleg.migrate.plans import Plan, Step
from gateleg.migrate.shapes import Capacity, Deployed, TableSettings, TableShape, declared_shape, deployed_shape
from gateleg.migrate.statuses import MigrationStatus
from gateleg.migrate.surveys import WrongCount, WrongMarker

__all__ = [
    "Capacity",
    "Conduct",
    "ConsistencyReport",
    "Deployed",
    "Fault",
    "KeyMove",
    "Migration",
    "MigrationStatus",
    "Migrator",
    "MoveStage",
    "Moving",
    "Outcome",
    "Pace",
    "Phase",
    "Plan",
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
