"""Workers, for programs that host them: `WorkerCrew` runs the workers of one process.

`DRAIN_GRACE` is how many seconds after its drain time a worker has ended at the latest. A process that does nothing but run jobs may call
`exclude_loaded_modules` once everything is imported.
"""

from gateleg.jobs.worker.crew import WorkerCrew
from gateleg.jobs.worker.draining import DRAIN_GRACE
from gateleg.jobs.worker.gc_tuning import exclude_loaded_modules
from gateleg.jobs.worker.worker import Worker

__all__ = ["DRAIN_GRACE", "Worker", "WorkerCrew", "exclude_loaded_modules"]
