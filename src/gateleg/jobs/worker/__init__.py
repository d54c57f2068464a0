"""Workers, for programs that host them. `WorkerPool` runs the workers of one process.

A worker that shuts down ends at most `DRAIN_GRACE` seconds after its drain time. A process that only runs jobs may call
`exclude_loaded_modules` once everything is imported.
"""

from gateleg.jobs.worker.worker import DRAIN_GRACE, Worker, WorkerPool, exclude_loaded_modules

__all__ = ["DRAIN_GRACE", "Worker", "WorkerPool", "exclude_loaded_modules"]
