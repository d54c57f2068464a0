"""What is deployed where, in a few lines. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import gateleg
from gateleg.web.settings import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.jobs import QueueStats, Schedule, WorkerRecord
    from gateleg.web.host import Host


def deployed(host: Host, workers: Sequence[WorkerRecord]) -> list[tuple[str, str]]:
    """Names and values: the host, where tables and objects are, who works, and what is installed."""
    installed = ", ".join(application.title for application in host.applications) or "none"
    return [
        ("Host", f"Gateleg {gateleg.__version__}"),
        ("Tables", f"{len(host.tables)} in {host.environment}"),
        ("Objects", shown(host.settings.objects)),
        ("Workers", workers_text(workers)),
        ("Applications", installed),
    ]


def workers_text(workers: Sequence[WorkerRecord]) -> str:
    """How many workers there are, on how many machines, in which versions of the application."""
    if not workers:
        return "none: jobs wait until one is started"
    hosts = Counter(worker.host for worker in workers)
    places = next(iter(hosts)) if len(hosts) == 1 else f"{len(hosts)} machines"
    versions = sorted({worker.app_version for worker in workers if worker.app_version})
    busy, room = sum(len(worker.running) for worker in workers), sum(worker.concurrency for worker in workers)
    told = f"{len(workers)} on {places}, {busy} of {room} places busy"
    return f"{told}, version {' and '.join(versions)}" if versions else told


def queues_text(queues: Sequence[QueueStats]) -> str:
    """How many queues there are, and which of them do not run."""
    odd = [f"{one.queue} is {one.mode}" for one in queues if one.mode != "running"]
    return ", ".join([f"{len(queues)}", *odd]) if odd else f"{len(queues)}, all running"


def schedules_text(schedules: Sequence[Schedule]) -> str:
    """How many schedules there are, and how many are off."""
    off = sum(not one.enabled for one in schedules)
    return f"{len(schedules)}, {off} of them off" if off else str(len(schedules)) if schedules else "none"
