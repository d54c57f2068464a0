"""The worker of `gateleg up`: a separate process, restarted if it dies.

It runs as `python -m gateleg.cli.worker_process`, reads its task from standard input, and stops when that input ends: it outlives its host
only until running jobs have finished.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from gateleg.cli.shutdown import children, exit_soon
from gateleg.jobs.worker import DRAIN_GRACE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from gateleg.host.settings import Settings

_log = logging.getLogger("gateleg.cli")
#: Seconds before a worker that died is restarted: the first and the longest pause.
_RESTART_PAUSES = (0.5, 30.0)
#: The niceness of the worker, so that pages stay responsive while jobs use the whole machine.
_NICE = 5
#: Seconds after which a start counts as successful.
_STABLE_SECONDS = 30.0


@dataclass(frozen=True)
class WorkerTask:
    """The task of the worker process."""

    settings: dict[str, Any]
    demo: bool
    concurrency: int
    drain_seconds: float

    @classmethod
    def of(cls, settings: Settings, *, demo: bool, concurrency: int, drain_seconds: float) -> WorkerTask:
        """The task of a worker with the settings of its host."""
        return cls(settings.pack(), demo, concurrency, drain_seconds)


@contextlib.asynccontextmanager
async def worker_process(task: WorkerTask, stop: asyncio.Event) -> AsyncIterator[None]:
    """A worker process until `stop` is set or the block ends. Then running jobs may finish, which the end of the block waits for."""
    keeping = asyncio.create_task(_keep(task, stop))
    try:
        yield
    finally:
        stop.set()
        await keeping


async def _keep(task: WorkerTask, stop: asyncio.Event) -> None:
    delay, longest = _RESTART_PAUSES
    loop = asyncio.get_running_loop()
    while not stop.is_set():
        began = loop.time()
        status = await _run_once(task, stop)
        if stop.is_set():
            return
        delay = _RESTART_PAUSES[0] if loop.time() - began > _STABLE_SECONDS else min(longest, delay * 2)
        _log.warning("The worker exited with status %s; restarting it in %.1f s.", status, delay)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), delay)


async def _run_once(task: WorkerTask, stop: asyncio.Event) -> int:
    """Run the worker once, and return its exit status."""
    process = _started(task)
    assert process.stdin is not None
    ended, stopped = asyncio.create_task(asyncio.to_thread(process.wait)), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({ended, stopped}, return_when=asyncio.FIRST_COMPLETED)
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            return await asyncio.wait_for(asyncio.shield(ended), task.drain_seconds + DRAIN_GRACE)
        except TimeoutError:
            process.kill()
            return await ended
    finally:
        children.discard(process)
        stopped.cancel()


def _started(task: WorkerTask) -> subprocess.Popen[bytes]:
    """Start the process and send it its task.

    Not through the event loop: uvloop forks, and a fork of a process in which numpy has threads can hang before it becomes the worker.
    """
    # In its own session, so that Ctrl-C in a terminal reaches only the host, which then stops the worker.
    process = subprocess.Popen([sys.executable, "-m", "gateleg.cli.worker_process"], stdin=subprocess.PIPE, start_new_session=True)
    children.add(process)
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.write(json.dumps(asdict(task)).encode() + b"\n")
        process.stdin.flush()
    return process


async def _work(task: WorkerTask) -> None:
    from gateleg import __version__
    from gateleg.cli.installed import installed_applications
    from gateleg.cli.shutdown import watching
    from gateleg.cli.worker import shown_metrics
    from gateleg.host.change_consumers import consuming
    from gateleg.host.host import Host
    from gateleg.host.logs import set_up_logs
    from gateleg.host.settings import Settings
    from gateleg.jobs.worker import WorkerPool, exclude_loaded_modules

    settings = Settings.unpack(task.settings)
    set_up_logs(settings)
    loop = asyncio.get_running_loop()
    opened = Host.open(settings, installed_applications(settings, demo=task.demo), tolerant=True)
    async with opened as host, consuming(host):
        workers = WorkerPool(
            host.queue,
            concurrency=task.concurrency,
            app_version=__version__,
            drain_seconds=task.drain_seconds,
            objects=host.objects,
            scratch=settings.data / "scratch",
        )

        def stop() -> None:
            exit_soon(task.drain_seconds + DRAIN_GRACE)
            workers.stop()

        loop.add_signal_handler(signal.SIGTERM, stop)
        reader = asyncio.StreamReader()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        ending = asyncio.create_task(_until_end(reader, stop))
        exclude_loaded_modules()
        if host.queue.context.jobs:
            with shown_metrics(settings, host.measured, workers), watching(settings.watchdog_seconds, workers.running):
                await workers.run()
            ending.cancel()
        else:
            # Without job types there is nothing to do; a process that exits would be restarted.
            loop.add_signal_handler(signal.SIGTERM, ending.cancel)
            with contextlib.suppress(asyncio.CancelledError):
                await ending
    exit_soon()


async def _until_end(reader: asyncio.StreamReader, stop: Callable[[], None]) -> None:
    """Stop the worker when the other end of its input is closed."""
    while await reader.read(4096):
        continue
    stop()


def main() -> None:
    """Run the task on standard input until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(_NICE)
    # Byte by byte: what follows the line belongs to the event loop.
    line = bytearray()
    while not line.endswith(b"\n"):
        piece = os.read(sys.stdin.fileno(), 1)
        if not piece:
            return
        line += piece
    asyncio.run(_work(WorkerTask(**json.loads(line))))


if __name__ == "__main__":
    main()
