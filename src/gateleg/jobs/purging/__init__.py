"""Purging: remove what belongs to an item before the item itself, and before TTL would remove the item alone.

purges = [Purge(...)]                                   declare which items and objects belong to an item
jobs.include(purge_jobs(store, purges))                 a scheduled job that purges what will expire soon
"""

from gateleg.jobs.errors import PurgeIncomplete
from gateleg.jobs.purging.declaration import Purge
from gateleg.jobs.purging.handlers import PurgeConfig, purge_jobs
from gateleg.jobs.purging.purger import Purger
from gateleg.jobs.purging.report import PurgeReport

__all__ = ["Purge", "PurgeConfig", "PurgeIncomplete", "PurgeReport", "Purger", "purge_jobs"]
