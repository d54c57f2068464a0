"""The deployment in a few lines. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import gateleg
from gateleg.web.settings import format_setting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.jobs.monitor import QueueStats
    from gateleg.jobs.tables import Schedule, WorkerRecord
    from gateleg.web.host import Host


def deployed(host: Host, workers: Sequence[WorkerRecord]) -> list[tuple[str, str]]:
    """Names and values: the host, the stores, the workers, and what is installed."""
    installed = ", ".join(application.title for application in host.applications) or "none"
    return [
        ("Host", f"Gateleg {gateleg.__version__}"),
        ("Tables", f"{len(host.tables)} in {host.environment}"),
        ("Objects", format_setting(host.settings.objects)),
        ("Workers", workers_text(workers)),
        ("Applications", installed),
    ]


def workers_text(workers: Sequence[WorkerRecord]) -> str:
    """The number of worker processes and machines, their load, and the versions of the application."""
    if not workers:
        return "none: jobs wait until a worker is started"
    hosts, processes = {worker.host for worker in workers}, {(worker.host, worker.pid) for worker in workers}
    where = next(iter(hosts)) if len(hosts) == 1 else f"{len(hosts)} machines"
    text = f"{len(processes)} process{'es' if len(processes) > 1 else ''} on {where}, running {_load_text(workers)}"
    versions = sorted({worker.app_version for worker in workers if worker.app_version})
    return f"{text}, version {' and '.join(versions)}" if versions else text


def _load_text(workers: Sequence[WorkerRecord]) -> str:
    """Running jobs and the maximum number of concurrent jobs. A queue with its own worker in the same process is counted separately."""
    shared: dict[tuple[str, int], WorkerRecord] = {}
    for worker in sorted(workers, key=lambda worker: len(worker.queues), reverse=True):
        shared.setdefault((worker.host, worker.pid), worker)
    counts: dict[str, list[int]] = {"jobs": [0, 0]}
    for worker in workers:
        kind = "jobs" if shared[worker.host, worker.pid] is worker else f"in {', '.join(worker.queues)}"
        count = counts.setdefault(kind, [0, 0])
        count[0] += len(worker.running)
        count[1] += worker.concurrency
    return ", ".join(f"{running} of up to {most} {kind}" for kind, (running, most) in counts.items())


def queues_text(queues: Sequence[QueueStats]) -> str:
    """The number of queues, and those that are paused or draining."""
    odd = [f"{one.queue} is {one.mode}" for one in queues if one.mode != "running"]
    return ", ".join([f"{len(queues)}", *odd]) if odd else f"{len(queues)}, all running"


def schedules_text(schedules: Sequence[Schedule]) -> str:
    """The number of schedules, and how many are disabled."""
    off = sum(not one.enabled for one in schedules)
    return f"{len(schedules)}, {off} disabled" if off else str(len(schedules)) if schedules else "none"
