"""Migrate tables: compare deployed tables with declared ones, plan the steps, and apply them.

`plan_table(declared_shape(table), deployed)` decides and is pure; `plan_of` looks at a store first; `apply` takes the steps. `backfill`
brings stored items up to the declaration of their entity; `check_consistency` compares counts and unique markers with the items they stand
for, and corrects them.
"""

from gateleg.migrate.applying import Outcome, Unsettled, Watcher, apply, plan_of
from gateleg.migrate.backfill import Fault, Report, backfill
from gateleg.migrate.consistency import ConsistencyReport, check_consistency
from gateleg.migrate.diff import plan_table
from gateleg.migrate.inspecting import inspect_table
from gateleg.migrate.moves.declaration import KeyMove, Stage
from gateleg.migrate.moves.moving import Moving
from gateleg.migrate.moves.passes import Pace
from gateleg.migrate.moves.phases import Phase
from gateleg.migrate.plans import Plan, Step
from gateleg.migrate.shapes import Capacity, Deployed, TableSettings, TableShape, declared_shape, deployed_shape
from gateleg.migrate.surveys import WrongCount, WrongMarker

__all__ = [
    "Capacity",
    "ConsistencyReport",
    "Deployed",
    "Fault",
    "KeyMove",
    "Moving",
    "Outcome",
    "Pace",
    "Phase",
    "Plan",
    "Report",
    "Stage",
    "Step",
    "TableSettings",
    "TableShape",
    "Unsettled",
    "Watcher",
    "WrongCount",
    "WrongMarker",
    "apply",
    "backfill",
    "check_consistency",
    "declared_shape",
    "deployed_shape",
    "inspect_table",
    "plan_of",
    "plan_table",
]
