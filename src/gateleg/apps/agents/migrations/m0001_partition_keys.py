"""Gives all items of a tenant a composite key: `endpoint_id#part_id` instead of `endpoint_id`."""

from gateleg.apps.agents.catalogue_tables import CATALOGUE_TABLES
from gateleg.apps.agents.derived_data import rebuild
from gateleg.apps.agents.migrations.tenant_moves import tenant_moves
from gateleg.apps.agents.tables import TENANT_TABLES, model_names, version_pointers
from gateleg.apps.agents.thread_tables import THREAD_TABLES
from gateleg.migrate import Migration, Moving, Phase
from gateleg.store import Store

MOVES = tenant_moves()


def rebuild_derived(store: Store) -> None:
    """Rebuild pointers and counts, which the old tables do not have. If several versions were active, one stays active, in both layouts."""
    rebuild(store.moving(Moving(MOVES)))


migration = Migration(
    1,
    "partition-keys",
    "Agents, threads, prompts, flows, MCP servers and wizards get the key endpoint_id#part_id",
    tables=(*TENANT_TABLES, version_pointers, model_names),
    moves=MOVES,
    uses=(*THREAD_TABLES, *CATALOGUE_TABLES),
    apply=rebuild_derived,
    deployed=Phase.CLEAN_UP,
)
