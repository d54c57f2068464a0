"""Workers, for programs that host them. `WorkerPool` runs the workers of one process.

A worker that shuts down ends at most `DRAIN_GRACE` seconds after its drain time. A process that only runs jobs may call
`exclude_loaded_modules` once everything is imported.
"""

from gateleg.jobs.worker.draining import DRAIN_GRACE
from gateleg.jobs.worker.gc_tuning import exclude_loaded_modules
from gateleg.jobs.worker.worker import Worker
from gateleg.jobs.worker.worker_pool import WorkerPool

__all__ = ["DRAIN_GRACE", "Worker", "WorkerPool", "exclude_loaded_modules"]
