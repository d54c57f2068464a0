"""Purging: remove an item together with its child items and objects, before TTL would remove the item alone.

Declarations, and a scheduled job that follows them:

    purges = [Purge(...)]                               declare which items and objects belong to an item
    jobs.include(purge_jobs(store, purges))             purge items that are about to expire
"""

from gateleg.jobs.errors import PurgeIncomplete
from gateleg.jobs.purging.declaration import Purge
from gateleg.jobs.purging.handlers import PurgeConfig, purge_jobs
from gateleg.jobs.purging.purger import Purger
from gateleg.jobs.purging.report import PurgeReport

__all__ = ["Purge", "PurgeConfig", "PurgeIncomplete", "PurgeReport", "Purger", "purge_jobs"]
