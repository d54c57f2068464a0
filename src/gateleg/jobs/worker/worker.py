"""`Worker`: claims jobs and runs them concurrently until it is stopped. `WorkerPool`: the workers of one process.

`polling` claims jobs, `attempt` runs a handler and writes the outcome. At the shutdown (`drain`) a worker waits for its running jobs, stops
those that take too long, and releases them for other workers.

While a worker runs, garbage is collected less often. A job allocates a few hundred small containers and no reference cycles. With Python's
default, a collection every 700 allocations, a worker would spend a fifth of its time on finding nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import socket
import threading
from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

from gateleg.jobs.claim import CandidateSelector
from gateleg.jobs.errors import JobError, NoHandlers, WrongArgument
from gateleg.jobs.finish import SETTLE
from gateleg.jobs.handlers import Handler
from gateleg.jobs.monitor.stats import WorkerCounters
from gateleg.jobs.queue import Queue, QueueVerbs
from gateleg.jobs.rules import Released, must_run_alone
from gateleg.jobs.submit import BARRIER
from gateleg.jobs.tables.records import WorkerRecord
from gateleg.jobs.worker.attempt import (
    EMBEDDED_FLUSH_SECONDS,
    REMOTE_FLUSH_SECONDS,
    Execution,
    Quarantine,
    in_own_process,
    log_attempt_end,
    log_attempt_start,
    watching_loop,
)
from gateleg.jobs.worker.maintenance import MaintenanceTasks, WorkerRegistration
from gateleg.jobs.worker.output import ScratchFolders, capturing, default_root
from gateleg.jobs.worker.polling import MAX_CLAIMED, MAX_WAIT_SECONDS, Poller, PrefetchedJobs, WorkerSlots, with_group_commit
from gateleg.jobs.worker.runs import AttemptResources, modules_of
from gateleg.model import ModelError
from gateleg.store import StoreError
from gateleg.store.group_commit import GroupCommitStore

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Iterator
    from pathlib import Path

    from gateleg.jobs.queue import AsyncQueue
    from gateleg.jobs.tables.job import Job
    from gateleg.jobs.tasks import JobContext
    from gateleg.objects import AsyncObjects

__all__ = ["WorkerPool"]

_log = logging.getLogger("gateleg.jobs")

#: The minimum and maximum seconds between two polls of empty queues: of an engine in this process, where polls are nearly free, and of a
#: remote store, which bills them.
_EMBEDDED_POLL_SECONDS = (0.02, 0.2)
_REMOTE_POLL_SECONDS = (0.05, 2.0)
#: How much longer output is collected for each running job, because each write takes about a millisecond.
_FLUSH_SECONDS_PER_JOB = 0.0015
#: Seconds between two removals of abandoned scratch folders.
_SCRATCH_SWEEP_SECONDS = 600.0
#: Seconds between two checks whether a thread that did not stop when asked has ended.
_THREAD_CHECK_SECONDS = 0.5


class Worker:
    """Claims and runs jobs: `await Worker(queue, queues={"math": 1}, concurrency=4).run()`.

    `queues` maps the names of its queues to weights: a queue of weight 3 is polled first three times as often as one of weight 1. The
    default is the queues of all handlers. `concurrency` is how many jobs it runs at once. `limits` is the maximum for particular queues,
    and overrides the limits that their handlers declare; a queue at its limit does not hold up the others.

    `idle` is the minimum and maximum number of seconds between two polls of empty queues: by default up to 0.2 with an embedded store, and
    up to 2 otherwise. A submission in the same process, or from another process to the same embedded store, ends the wait.

    After `stop`, running jobs have `drain_seconds` to finish before they are released for other workers.

    With `maintenance`, the workers of each queue elect one of them to promote delayed jobs, recover the jobs of lost workers, run
    schedules, and archive finished jobs, with long logs in the object store `objects`.

    With `capture`, the printed and logged output of handlers is added to the logs of their jobs. `scratch` is the folder for the temporary
    folders of attempts; the default is in the system's temporary folder.

    While a worker runs, Python collects garbage less often, unless the program has tuned this itself.
    """

    def __init__(
        self,
        queue: AsyncQueue,
        *,
        queues: Mapping[str, int] | None = None,
        concurrency: int = 4,
        worker_id: str | None = None,
        app_version: str = "",
        idle: tuple[float, float] | None = None,
        drain_seconds: float = 30.0,
        maintenance: bool = True,
        objects: AsyncObjects | None = None,
        capture: bool = True,
        scratch: Path | None = None,
        limits: Mapping[str, int] | None = None,
    ) -> None:
        argument: Any = queue
        if not isinstance(argument, QueueVerbs) or isinstance(argument, Queue):
            raise WrongArgument(
                f"A worker takes an AsyncQueue, and was given {type(argument).__name__}.",
                fix="Give it AsyncQueue(AsyncStore.connect(...), jobs); in tests use TestWorker(queue).",
            )
        _check_options(queues, concurrency, idle)
        self.queue = with_group_commit(queue)
        self.queues = dict(queues or {handler.queue: 1 for handler in queue.context.jobs} or {"default": 1})
        self.concurrency = concurrency
        self.worker_id = worker_id or f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:6]}"
        self.app_version = app_version
        self.limits = {**queue.context.jobs.limits, **(limits or {})}
        self.running: dict[UUID, Execution] = {}
        #: the scratch folders and processes that its attempts share
        self.resources = AttemptResources(ScratchFolders(scratch or default_root(), self.worker_id))
        #: whether the store is an engine in this process
        self._embedded = isinstance(self.queue.store, GroupCommitStore)
        self._drain_seconds = drain_seconds
        self._capture = capture
        self._counters = WorkerCounters(self.worker_id)
        self._selectors = [
            CandidateSelector(
                queue.context.setup.ticks, self.worker_id, fresh_for=-1.0 if self._embedded else 0.2, single_writer=self._embedded
            )
            for _ in self.queue.members
        ]
        self._capacity = WorkerSlots(concurrency, self.limits)
        self._prefetched = PrefetchedJobs(concurrency if self._embedded else MAX_CLAIMED)
        if isinstance(self.queue.store, GroupCommitStore):
            self.queue.store.commits.expects_more = lambda: self._prefetched.delays_commits
        self._poller = Poller(
            self.queue,
            self.queues,
            selectors=self._selectors,
            capacity=self._capacity,
            prefetched=self._prefetched,
            counters=self._counters,
            poll_seconds=idle or (_EMBEDDED_POLL_SECONDS if self._embedded else _REMOTE_POLL_SECONDS),
        )
        self._maintenance = MaintenanceTasks(queue, tuple(self.queues), self.worker_id, objects=objects) if maintenance else None
        self._quarantine = Quarantine()
        self._tasks: set[asyncio.Task[None]] = set()
        self._stop = asyncio.Event()

    @property
    def stopping(self) -> bool:
        """Whether `stop` was called."""
        return self._stop.is_set()

    def stop(self) -> None:
        """Stop claiming jobs. `run` returns when the running jobs have ended or were released. Call this in the event loop's thread."""
        self._stop.set()
        self._poller.wakeup.set()

    async def run(self) -> None:
        """Claim and run jobs until `stop` is called and the running jobs have ended or were released.

        Raises `NoHandlers` if the queue has no handlers.
        """
        if not self.queue.context.jobs:
            raise NoHandlers("The worker has no handlers.")
        self.resources.children.prepare(modules_of(self.queue.context.jobs) | {type(self.queue.store.transport).__module__})
        loop = asyncio.get_running_loop()
        stop_listening = self.queue.context.jobs.ready.listen(lambda name: loop.call_soon_threadsafe(self._poller.notify, name))
        registration = WorkerRegistration(
            self.queue, self._selectors, self._counters, self._record(), self._current_state, alone=self._embedded
        )
        # Read the records of the other workers before the first claim, which needs them.
        await registration.report()
        background = [asyncio.ensure_future(registration.run()), asyncio.ensure_future(self._sweep_scratch())]
        if self._maintenance is not None:
            background.append(asyncio.ensure_future(self._maintenance.run()))
        try:
            with capturing() if self._capture else contextlib.nullcontext(), watching_loop(), collecting_less_often():
                await self._claim_until_stopped()
                self._release_all(self._prefetched.clear())
                await drain(self.running, self._tasks, self._drain_seconds)
        finally:
            stop_listening()
            for task in background:
                task.cancel()
            await asyncio.gather(*background, return_exceptions=True)
            await registration.leave()
            if self._maintenance is not None:
                await self._maintenance.leave()
            await self.resources.children.close()
            await asyncio.to_thread(self.resources.folders.close)

    async def _claim_until_stopped(self) -> None:
        while not self.stopping:
            self._poller.wakeup.clear()
            if self._capacity.free == 0 or self._quarantine.active:
                await self._poller.wakeup.wait()
                continue
            jobs = await self._poller.poll()
            if jobs:
                self._start_or_prefetch(jobs)
                # Handlers that never await finish here, and free their slots at once.
                await asyncio.sleep(0)
            else:
                await self._poller.wait()

    def _start_or_prefetch(self, jobs: list[Job]) -> None:
        """Start as many claimed jobs as the worker has free slots. The others start when slots become free, or are released."""
        for job in jobs:
            if self._capacity.free > 0:
                self._start(job)
            else:
                self._prefetched.add(job)
        if jobs[-1] in self._prefetched:
            asyncio.get_running_loop().call_later(MAX_WAIT_SECONDS, self._release_if_waiting, jobs[-1])

    def _release_if_waiting(self, last: Job) -> None:
        if last in self._prefetched:
            self._release_all(self._prefetched.clear())

    def _start(self, job: Job) -> None:
        self._capacity.take(job)
        self._quarantine.add(job)
        self._add_task(self._run_job(job))

    def _add_task(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run_job(self, job: Job) -> None:
        execution: Execution | None = None
        slot_freed = False

        def free_slot_early() -> None:
            """Free the slot before the outcome is written, so that the next claim shares its commit, unless many writes are pending."""
            nonlocal slot_freed
            if execution is not None and not execution.run.alive and len(self._tasks) <= 2 * self.concurrency + MAX_CLAIMED:
                slot_freed = True
                self._prefetched.record_duration(execution.handler_seconds)
                self._free_slot(job)

        try:
            handler, alone = self._handler(job), must_run_alone(job)
            log_attempt_start(job)
            execution = self.running[job.job_id] = self.execution(job, in_own_process(handler) if alone else handler)
            ended = await execution.execute(free_slot_early, (lambda: self._quarantine.wait_until_alone(job)) if alone else None)
            if ended is not None:
                self._counters.ended(ended)
                for listener in self.queue.context.jobs.attempt_listeners:
                    listener(ended)
                log_attempt_end(ended)
        except Exception:
            _log.exception("could not record the outcome of job %s; it will be retried when its lease expires", job.job_id)
        finally:
            self.running.pop(job.job_id, None)
            if job.concurrency_key is not None:
                for selector in self._selectors:
                    selector.record_key_freed(job.concurrency_key)
            if not slot_freed:
                await self._free_slot_when_ended(job, execution)
            self._quarantine.remove(job)
            self._poller.wakeup.set()

    def execution(self, job: Job, handler: Handler) -> Execution:
        """Create the attempt of a claimed job. Subclasses may override this to observe attempts."""
        return Execution(self.queue, job, handler, self.resources, flush_seconds=self._flush_seconds)

    def _flush_seconds(self) -> float:
        """How long output is collected before it is written: longer with many running jobs, to leave time for other work."""
        if not self._embedded:
            return REMOTE_FLUSH_SECONDS
        return max(EMBEDDED_FLUSH_SECONDS, _FLUSH_SECONDS_PER_JOB * len(self.running))

    async def _free_slot_when_ended(self, job: Job, execution: Execution | None) -> None:
        """Free the slot once the job has ended completely: a thread that does not stop keeps its slot."""
        while execution is not None and execution.run.alive and not self.stopping:
            await asyncio.sleep(_THREAD_CHECK_SECONDS)
        self._free_slot(job)

    def _free_slot(self, job: Job) -> None:
        self._capacity.release(job)
        following = None if self.stopping or self._quarantine.active else self._prefetched.take()
        if following is not None:
            self._start(following)
        else:
            self._poller.wakeup.set()

    def _release_all(self, jobs: Iterable[Job]) -> None:
        for job in jobs:
            self._add_task(self._release(job))

    async def _release(self, job: Job) -> None:
        try:
            await self.queue.finish(job, Released())
        except (StoreError, ModelError, JobError) as error:
            _log.warning("could not release job %s; another worker runs it when its lease expires: %s", job.job_id, error)

    def _handler(self, job: Job) -> Handler:
        """The handler of a claimed job. A worker claims only jobs that it has one for."""
        if job.job_type == SETTLE:
            return Handler(SETTLE, self._settle)
        if job.job_type == BARRIER:
            return Handler(BARRIER, _do_nothing)
        return self.queue.context.jobs.of(job.job_type)

    async def _settle(self, job: JobContext, config: dict[str, Any]) -> int:
        return await self.queue.settle(UUID(config["job_id"]))

    async def _sweep_scratch(self) -> None:
        """Remove the scratch folders of lost workers, at the start and then periodically."""
        while True:
            await asyncio.to_thread(self.resources.folders.sweep)
            await asyncio.sleep(_SCRATCH_SWEEP_SECONDS)

    def _record(self) -> WorkerRecord:
        now = self.queue.context.now()
        return WorkerRecord(
            worker_id=self.worker_id,
            host=socket.gethostname(),
            pid=os.getpid(),
            app_version=self.app_version,
            queues=sorted(self.queues),
            weights=dict(self.queues),
            concurrency=self.concurrency,
            limits={name: self.limits[name] for name in self.queues if name in self.limits},
            lease_seconds=self.queue.context.settings.lease_seconds,
            started_at=now,
            seen_at=now,
        )

    def _current_state(self) -> dict[str, Any]:
        """The attributes of the worker's record that change."""
        return {"running": sorted(self.running), "state": "draining" if self.stopping else "running"}


def _check_options(queues: Any, concurrency: Any, idle: Any) -> None:
    """Raise `WrongArgument` for options with which a worker would run no jobs, or other jobs than it was told to."""
    if queues is not None and not isinstance(queues, Mapping):
        names = [queues] if isinstance(queues, str) else list(queues)
        raise WrongArgument(
            f"queues= takes the weights of queues, and was given {queues!r}.", fix=f"Write queues={dict.fromkeys(names, 1)!r}."
        )
    if isinstance(concurrency, bool) or not isinstance(concurrency, int) or concurrency < 1:
        raise WrongArgument(
            f"concurrency= is how many jobs the worker runs at once, and was given {concurrency!r}.", fix="Give an int of at least 1."
        )
    if idle is not None and not (isinstance(idle, tuple) and len(idle) == 2 and 0 <= idle[0] <= idle[1]):
        raise WrongArgument(f"idle={idle!r} is not a minimum and a maximum of seconds.", fix="Write idle=(0.02, 0.2), for example.")


async def _do_nothing(job: JobContext, config: dict[str, Any]) -> None:
    """The handler of a barrier, which is claimable once all of its dependencies have completed."""


class WorkerPool:
    """Workers that start and stop together: `await WorkerPool(queue, concurrency=4).run()`.

    `queues` and `concurrency` are as for `Worker`; `options` are passed to each worker. Each queue whose handlers declare `own_concurrency`
    gets its own worker, so that its jobs do not use the slots of other queues.
    """

    def __init__(self, queue: AsyncQueue, *, queues: Mapping[str, int] | None = None, concurrency: int = 4, **options: Any) -> None:
        jobs = queue.context.jobs
        weights = dict(queues or {handler.queue: 1 for handler in jobs})
        separate = {name: slots for name, slots in jobs.own_concurrencies.items() if name in weights}
        common = {name: weight for name, weight in weights.items() if name not in separate}
        self.workers = [Worker(queue, queues=common, concurrency=concurrency, **options)] if common or not separate else []
        self.workers += [Worker(queue, queues={name: 1}, concurrency=slots, **options) for name, slots in separate.items()]

    def running(self) -> list[str]:
        """The jobs that are running, each with its type."""
        return [f"job {job_id} ({execution.job.job_type})" for worker in self.workers for job_id, execution in list(worker.running.items())]

    def stop(self) -> None:
        """Stop claiming jobs. `run` returns when the running jobs have ended or were released. Call this in the event loop's thread."""
        for worker in self.workers:
            worker.stop()

    async def run(self) -> None:
        """Claim and run jobs until `stop` is called and the running jobs have ended or were released.

        If one worker fails, the others stop too, and the error is raised.
        """
        async with asyncio.TaskGroup() as group:
            for worker in self.workers:
                group.create_task(self._run(worker))

    async def _run(self, worker: Worker) -> None:
        try:
            await worker.run()
        finally:
            self.stop()


_drain_log = logging.getLogger("gateleg.jobs.worker")
#: How long handlers have to end when they are asked to stop after the drain time.
_STOP_GRACE_SECONDS = 2.0
#: How long the worker then tries to write their outcomes.
_WRITE_GRACE_SECONDS = 5.0
#: How long to wait for a cancelled write.
_CANCEL_GRACE_SECONDS = 1.0
#: A worker ends at most this many seconds after its drain time, whatever handlers and the store do: the times above and its last report.
DRAIN_GRACE = 10.0
#: How often a stopping worker logs which jobs it waits for, and how many of them it names.
_LOG_INTERVAL_SECONDS = 5.0
_MAX_NAMED_JOBS = 20


async def drain(running: Mapping[UUID, Execution], tasks: set[asyncio.Task[None]], seconds: float) -> None:
    """Wait up to `seconds` for the running jobs, and release jobs that have not ended. Returns at most `DRAIN_GRACE` seconds later.

    `running` and `tasks` change while this waits: jobs that end are removed.
    """
    executions = list(running.values())
    await _wait_for_jobs(running, tasks, seconds)
    if running:
        _drain_log.warning("drain time is over: stopping and releasing %s", _names(running.values()))
    for execution in list(running.values()):
        execution.stop("draining", grace=_STOP_GRACE_SECONDS)
    if tasks:
        _, unfinished = await asyncio.wait(set(tasks), timeout=_STOP_GRACE_SECONDS + _WRITE_GRACE_SECONDS)
        for task in unfinished:
            # The store does not respond. Other workers take these jobs when their leases expire.
            task.cancel()
        if unfinished:
            await asyncio.wait(unfinished, timeout=_CANCEL_GRACE_SECONDS)
    still_running = [execution for execution in executions if execution.run.alive]
    if still_running:
        _drain_log.warning("these jobs did not stop when asked to, so other workers will run them again: %s", _names(still_running))


async def _wait_for_jobs(running: Mapping[UUID, Execution], tasks: set[asyncio.Task[None]], seconds: float) -> None:
    loop = asyncio.get_running_loop()
    deadline, message = loop.time() + seconds, "shutting down: waiting up to %g s for %s"
    while tasks and (left := deadline - loop.time()) > 0:
        _drain_log.info(message, round(left, 1), _names(running.values()) or "outcomes to be written")
        await asyncio.wait(set(tasks), timeout=min(left, _LOG_INTERVAL_SECONDS))
        message = "shutting down: still waiting, %g s left, for %s"


def _names(executions: Iterable[Execution]) -> str:
    """Types and ids of some jobs, for a log line."""
    names = [f"{execution.job.job_type} {execution.job.job_id}" for execution in executions]
    more = len(names) - _MAX_NAMED_JOBS
    return ", ".join([*names[:_MAX_NAMED_JOBS], *([f"and {more} more"] if more > 0 else [])])


#: Net container allocations before a collection of the youngest generation, and collections before one of the next generation.
_THRESHOLDS = (10_000, 20, 20)


class _Threshold:
    """The raised threshold of this process, shared by all of its workers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._previous: tuple[int, int, int] | None = None

    def enter(self) -> None:
        with self._lock:
            self._users += 1
            # A threshold of 0 means that the program has turned collection off.
            if self._users == 1 and 0 < gc.get_threshold()[0] < _THRESHOLDS[0]:
                self._previous = gc.get_threshold()
                gc.set_threshold(*_THRESHOLDS)

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0 and self._previous is not None:
                # Keep the threshold if the program has changed it in the meantime.
                if gc.get_threshold() == _THRESHOLDS:
                    gc.set_threshold(*self._previous)
                self._previous = None


_threshold = _Threshold()


@contextmanager
def collecting_less_often() -> Iterator[None]:
    """Raise the collection threshold during the block, and restore it afterwards.

    If the program has set a higher threshold, or turned collection off, nothing changes.
    """
    _threshold.enter()
    try:
        yield
    finally:
        _threshold.leave()


def exclude_loaded_modules() -> None:
    """Exempt all existing objects from garbage collection. Hosts and workers in a process of their own call this."""
    gc.collect()
    gc.freeze()
