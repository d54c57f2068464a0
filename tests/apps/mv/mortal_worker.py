"""A worker that kills itself while scenes are rendered: `python -m tests.apps.mv.mortal_worker FOLDER PROJECT COUNT`.

It dies by SIGKILL when that many scenes have their clips and another one is being rendered.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path
from uuid import UUID

from gateleg.apps.mv.application import application
from gateleg.apps.mv.service import load_project
from gateleg.apps.mv.tables import SceneStatus
from gateleg.host.host import Host
from gateleg.host.settings import load_settings
from gateleg.jobs import AsyncQueue, QueueSettings, Worker


def worker_of(host: Host, folder: Path) -> Worker:
    """A worker whose jobs are soon taken over when it dies."""
    queue = AsyncQueue(host.store, host.queue.context.jobs, QueueSettings(lease_seconds=3.0))
    return Worker(queue, concurrency=2, scratch=folder / "scratch")


async def die_in_the_middle(host: Host, project_id: UUID, count: int) -> None:
    while True:
        scenes = (await load_project(host.store, project_id)).scenes
        done = sum(scene.status is SceneStatus.COMPLETED for scene in scenes)
        if done >= count and any(scene.status is SceneStatus.PROCESSING for scene in scenes):
            os.kill(os.getpid(), signal.SIGKILL)
        await asyncio.sleep(0.02)


async def main(folder: Path, project_id: UUID, count: int) -> None:
    flags = {"store": f"embedded:{folder}/store?durability=relaxed", "objects": f"dir:{folder}/objects", "data": folder}
    async with Host.open(load_settings(flags=flags, environ={}), [application]) as host:
        watching = asyncio.ensure_future(die_in_the_middle(host, project_id, count))
        await worker_of(host, folder).run()
        watching.cancel()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), UUID(sys.argv[2]), int(sys.argv[3])))
