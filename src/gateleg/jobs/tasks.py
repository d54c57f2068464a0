"""What an application writes jobs with: tasks, contexts, stages, and the exceptions by which a handler ends its attempt.

`Task` submits jobs of one type, `JobContext` is the first argument of their handlers, and a `Stage` is a child job. A handler that directs
stages submits them with their dependencies, and completes or fails with them:

    async def make_film(job: JobContext, config: FilmConfig) -> FilmResult:
        stages = [Stage("scenes", Submission("SCENES", config.scenes)), Stage("cut", Submission("CUT"), needs=("scenes",))]
        children = await direct_stages(job, queue, stages)
        return FilmResult(film=children["cut"])

While the handler waits, it occupies no slot of a worker: it is snoozed and called again. Each stage is submitted once.
"""

from __future__ import annotations

import functools
import inspect
from collections import Counter
from dataclasses import dataclass, replace
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Generic, Protocol, TypeVar, Union, Unpack, cast, get_args, get_origin

from pydantic import BaseModel

from gateleg.durations import duration
from gateleg.jobs.errors import BadHandler, BadSubmission, DependencyMissing, UseAwait
from gateleg.jobs.submission import Submission, SubmitOptions, Submitter
from gateleg.jobs.tables.job import DURATION_METRIC, JobStatus

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine, Mapping, Sequence
    from pathlib import Path
    from uuid import UUID

    from gateleg.jobs.queue import AsyncQueue
    from gateleg.jobs.submission import Submitted
    from gateleg.jobs.tables.job import Job

C = TypeVar("C")
R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")

#: What `get_origin` returns for annotations that are composed of several: `A | B`, `Optional[A]`, `Annotated[A, ...]`.
_COMPOSED = (Union, UnionType, Annotated)

#: A hundred years.
_MAX_SNOOZE_SECONDS = 100 * 366 * 86_400.0

#: Seconds between two checks of the stages.
LOOK_AGAIN = 2.0


class Snooze(Exception):
    """Raise this in a handler to be called again after `seconds`, or at once if they are negative.

    It frees the worker's slot, and does not count as a failure or a try.
    """

    def __init__(self, seconds: float) -> None:
        if not isinstance(seconds, int | float) or not seconds <= _MAX_SNOOZE_SECONDS:
            raise ValueError(f"Snooze needs a number of seconds of at most a hundred years, not {seconds!r}.")
        super().__init__(f"snoozed for {seconds:g} seconds")
        self.seconds = max(0.0, seconds)

    def __reduce__(self) -> tuple[type[Snooze], tuple[float]]:
        return type(self), (self.seconds,)


class GiveUp(Exception):
    """Raise this in a handler to fail the job without retries: `raise GiveUp("no such account")`."""


class Stopped(Exception):
    """Raised by `JobContext.check`: the job was cancelled or timed out, its worker shuts down, or another worker has the job."""


class Task(Generic[C, R]):
    """A job type with its function, created by `@jobs.handler(...)`.

        greet.submit(queue, Greeting(name="Nina"), priority=80)          to a Queue
        await greet.submit(queue, Greeting(name="Nina"))                 to an AsyncQueue
        await greet.submit(job, Greeting(name="Nina"))                   in a handler: a child of its job
        queue.submit_many([greet.submission(Greeting(name=name)) for name in names])

    A task is not bound to a queue: it can be submitted to several. Calling it calls the function directly, as in a unit test.
    """

    def __init__(self, job_type: str, function: Callable[[JobContext, C], R]) -> None:
        self.job_type = job_type
        self.__name__ = getattr(function, "__name__", job_type)
        self.function = function
        functools.update_wrapper(self, function)

    def __call__(self, job: JobContext, config: C) -> R:
        """Call the function directly, without a queue."""
        return self.function(job, config)

    def __repr__(self) -> str:
        return f"<Task {self.job_type}>"

    def submission(self, config: C, **options: Unpack[SubmitOptions]) -> Submission:
        """A `Submission` of this job type, for `submit_many`, `enlist`, `writes` and `schedule`."""
        return Submission(self.job_type, cast("Any", config), **options)

    def submit(self, to: Submitter[S], config: C, **options: Unpack[SubmitOptions]) -> S:
        """Submit a job to a queue, or from a handler to its `JobContext`, as a child job. Raises the errors of `Queue.submit`.

        Returns `Submitted`; with an `AsyncQueue` or a `JobContext`, a coroutine that returns it.
        """
        if not isinstance(to, Submitter):
            raise BadSubmission(
                f"{self.job_type} was submitted to a {type(to).__name__}, which is not a queue.",
                fix=f"Write {self.__name__}.submit(queue, config), or {self.__name__}.submit(job, config) in a handler.",
            )
        return to.submit_task(self.submission(config, **options))


def function_of(handle: Callable[[JobContext, C], R]) -> Callable[[JobContext, C], R]:
    """The function of a task; any other function unchanged."""
    return handle.function if isinstance(handle, Task) else handle


def config_model(job_type: str, handle: Callable[..., Any]) -> type[BaseModel] | None:
    """The pydantic model that annotates the second parameter of a function; None if the annotation is anything else.

    Only that annotation is evaluated: others may name types that are imported only for type checkers.
    """
    try:
        annotation = _config_annotation(handle)
    except Exception as error:
        written = list(inspect.signature(handle).parameters.values())[1].annotation
        raise BadHandler(
            f"The handler of {job_type} annotates its config as {written}, which cannot be resolved at run time: {error}.",
            fix="Import the type outside of `if TYPE_CHECKING`, or give the model as config=.",
        ) from None
    if isinstance(annotation, type) and issubclass(annotation, str | int | float | list | tuple | set | bytes):
        raise BadHandler(
            f"The handler of {job_type} annotates its config as {annotation.__name__}, and a config is a JSON object.",
            fix="Annotate it with a pydantic model, or with dict[str, Any].",
        )
    models = [kind.__name__ for kind in get_args(annotation) if _is_model(kind)] if get_origin(annotation) in _COMPOSED else []
    if models:
        raise BadHandler(
            f"The handler of {job_type} annotates its config as {annotation}, and would get a dictionary: a config has one model.",
            fix=f"Annotate it with {models[0]} alone; a config that is left out has the defaults of the model.",
        )
    return cast("type[BaseModel]", annotation) if _is_model(annotation) else None


def other_config_annotated(handle: Callable[..., Any], config: type[BaseModel]) -> type[BaseModel] | None:
    """The model that annotates the second parameter of a function, if a config of the model `config` is not an instance of it."""
    try:
        annotation = _config_annotation(handle)
    except Exception:  # imported only for type checkers
        return None
    return annotation if _is_model(annotation) and not issubclass(config, annotation) else None


def _config_annotation(handle: Callable[..., Any]) -> Any:
    """The annotation of the second parameter, evaluated if it is a text."""
    parameters = list(inspect.signature(handle).parameters.values())
    annotation: Any = parameters[1].annotation if len(parameters) > 1 else None
    return eval(annotation, getattr(handle, "__globals__", {}), _enclosed(handle)) if isinstance(annotation, str) else annotation


def _is_model(annotation: Any) -> bool:
    """Whether an annotation is a model of particular configs. `BaseModel` itself has no fields: it stands for any config."""
    return isinstance(annotation, type) and issubclass(annotation, BaseModel) and annotation is not BaseModel


def takes_job_second(handle: Callable[..., Any]) -> bool:
    """Whether a function annotates its second parameter, the config, as the `JobContext`."""
    parameters = list(inspect.signature(handle).parameters.values())
    if len(parameters) < 2:
        return False
    annotation = parameters[1].annotation
    name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return name.rpartition(".")[2] == "JobContext"


def _enclosed(handle: Callable[..., Any]) -> dict[str, Any]:
    """The variables of enclosing functions that a function uses."""
    return dict(inspect.getclosurevars(handle).nonlocals) if inspect.isfunction(handle) else {}


class WorkerLink(Protocol):
    """How a handler reaches its worker, from the same thread, another one, or another process."""

    def log(self, message: str, level: str = "INFO") -> None:
        """Add lines to the log."""
        ...

    def progress(self, done: float, total: float = 1.0, message: str = "") -> None:
        """Set the progress."""
        ...

    def emit(self, event: Any) -> None:
        """Emit an event for followers of the job."""
        ...

    def output(self, kind: str, *locations: str) -> None:
        """Record where results are stored."""
        ...

    def metric(self, name: str, value: Any) -> None:
        """Record a metric."""
        ...

    async def submit(self, submissions: Sequence[Submission]) -> list[Submitted]:
        """Submit child jobs."""
        ...

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine from a plain function and return its result."""
        ...

    @property
    def scratch(self) -> Path:
        """The temporary folder of the attempt."""
        ...

    @property
    def stopping(self) -> str | None:
        """Why the handler must stop; None while it may continue."""
        ...


def wait_in(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in the event loop of another thread and return its result."""
    from asyncio import get_running_loop, run_coroutine_threadsafe

    try:
        get_running_loop()
    except RuntimeError:
        return run_coroutine_threadsafe(work, loop).result()
    work.close()
    raise UseAwait("job.wait(...) was called in a thread with a running event loop, which it would block.")


class JobContext(Submitter["Coroutine[Any, Any, Submitted]"]):
    """The first argument of a handler: its job, and methods to log, report progress, emit events and submit child jobs. Thread-safe.

    The worker renews the lease meanwhile. A long-running handler should call `check`, or read `should_stop`, from time to time.
    """

    def __init__(self, job: Job, link: WorkerLink) -> None:
        self.job = job
        self._link = link

    @property
    def job_id(self) -> UUID:
        """The job's id. Use it as the key of results, so that a second run overwrites those of the first."""
        return self.job.job_id

    @property
    def attempt(self) -> int:
        """The number of claims so far. It only grows, so it is a fencing token for writes to other systems."""
        return self.job.attempt

    def log(self, message: str, level: str = "INFO") -> None:
        """Add a message, of one or more lines, to the job's log. Console and API show it while the job runs."""
        self._link.log(message, level)

    def progress(self, done: float, total: float = 1.0, message: str = "") -> None:
        """Report the progress: `job.progress(3, 10, "embedding")`."""
        self._link.progress(done, total, message)

    def emit(self, event: Any) -> None:
        """Emit an event, a JSON value or a pydantic model, for followers of the job: `job.emit({"token": "Hel"})`.

        Events are numbered and written in batches a few times a second. A follower that reconnects receives the events it has missed.
        Raises `BadEvent` for a value that is not JSON, or larger than 64 KiB.
        """
        self._link.emit(event)

    def output(self, kind: str, *locations: str) -> None:
        """Record where the handler has stored results: `job.output("dynamodb_tables", "CommentClusters")`."""
        self._link.output(kind, *locations)

    def metric(self, name: str, value: Any) -> None:
        """Add a named value to the metrics of the job's result: `job.metric("rows", 120)`."""
        self._link.metric(name, value)

    @property
    def scratch(self) -> Path:
        """A temporary folder for this attempt, created on first use and removed when the attempt ends.

        Put files that must be kept into the object store. In a process, `tempfile` and `TMPDIR` also use this folder.
        """
        return self._link.scratch

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in a plain `def` handler and return its result: `job.wait(store.get(Scene, ...))`."""
        return self._link.wait(work)

    @property
    def should_stop(self) -> bool:
        """Whether the handler must stop: the job was cancelled or timed out, its worker shuts down, or the lease was lost."""
        return self._link.stopping is not None

    @property
    def cancelled(self) -> bool:
        """Whether the job was cancelled."""
        return self._link.stopping == "cancelled"

    def check(self) -> None:
        """Raise `Stopped` if the handler must stop. Do not catch it: the worker then records why the attempt ended."""
        reason = self._link.stopping
        if reason is not None:
            raise Stopped(reason)

    def submit_task(self, submission: Submission) -> Coroutine[Any, Any, Submitted]:
        """Submit a child job; `Task.submit` calls this."""
        return self.submit(submission)

    async def submit(self, submission: Submission) -> Submitted:
        """Submit a child of this job. Raises `ParentGone` if the job was cancelled, or its lease was lost to another worker."""
        (submitted,) = await self._link.submit([submission])
        return submitted

    async def submit_many(self, submissions: Sequence[Submission]) -> list[Submitted]:
        """Submit several children of this job, which may depend on each other. Raises `ParentGone` like `submit`."""
        return await self._link.submit(submissions)


@dataclass(frozen=True)
class Stage:
    """A stage of a job, run as a child job."""

    name: str
    submission: Submission
    #: the names of the stages that must complete before it
    needs: Sequence[str] = ()


def combined_status(states: Mapping[str, JobStatus]) -> JobStatus | None:
    """The status of all stages together: failed or cancelled as soon as one stage is, completed once all are, None before that."""
    if JobStatus.FAILED in states.values():
        return JobStatus.FAILED
    if JobStatus.CANCELLED in states.values():
        return JobStatus.CANCELLED
    return JobStatus.COMPLETED if all(state is JobStatus.COMPLETED for state in states.values()) else None


async def direct_stages(job: JobContext, queue: AsyncQueue, stages: Sequence[Stage], *, look_again: float | None = None) -> dict[str, UUID]:
    """Submit stages as child jobs, and return the job id of each, by name, once all have completed.

    Each stage must be listed after the stages that it needs. Until all have completed, this raises `Snooze`, which the handler must not
    catch; the handler is called again `look_again` seconds later (2 by default). Once a stage has failed or was cancelled, it raises
    `GiveUp`. If the parent job is retried after that, failed and cancelled stages are restarted, and completed ones are kept.

    The job's log says how each stage ended, and its results have the outputs and metrics of the stages.
    """
    children = await submit_stages(job, queue, stages)
    states = {name: child.status for name, child in children.items()}
    done = sum(state is JobStatus.COMPLETED for state in states.values())
    job.progress(done, len(states), ", ".join(f"{name} {state.value.lower()}" for name, state in states.items()))
    ended = combined_status(states)
    if ended is None:
        raise Snooze(LOOK_AGAIN if look_again is None else look_again)
    for name, child in children.items():
        if child.finished:
            job.log(_ending(name, child), "INFO" if child.status is JobStatus.COMPLETED else "ERROR")
    _collect_results(job, children)
    if ended is not JobStatus.COMPLETED:
        names = ", ".join(f"{name} (job {children[name].job_id})" for name, state in states.items() if state is ended)
        word = "failed" if ended is JobStatus.FAILED else "was cancelled"
        raise GiveUp(f"Of the stages of {job.job.job_type}, {names} {word}. Retry job {job.job_id} to run the missing stages.")
    return {name: child.job_id for name, child in children.items()}


def _ending(name: str, child: Job) -> str:
    """How a stage ended: `PCA completed in 3 seconds: 500 votes, 2 groups`."""
    words = f"{name} {child.status.value.lower()}"
    if child.started_at is not None and child.completed_at is not None:
        words += f" in {duration((child.completed_at - child.started_at).total_seconds())}"
    last = child.logs.entries[-1].message if child.logs.entries else ""
    return f"{words}: {last}" if last else words


def _collect_results(job: JobContext, children: Mapping[str, Job]) -> None:
    """Give a job the outputs and metrics of its stages. A metric that several stages have is named after its stage: `PCA.rows`."""
    results = {name: child.job_results for name, child in children.items() if child.job_results is not None}
    common = Counter(metric for result in results.values() for metric in result.summary_metrics)
    for name, result in results.items():
        for kind, locations in result.output_location.items():
            job.output(kind, *locations)
        for metric, value in result.summary_metrics.items():
            if metric != DURATION_METRIC:
                job.metric(metric if common[metric] == 1 else f"{name}.{metric}", value)


async def submit_stages(job: JobContext, queue: AsyncQueue, stages: Sequence[Stage]) -> dict[str, Job]:
    """Submit stages as child jobs, and return their current jobs by name. Repeated calls submit each stage only once.

    Use this instead of `direct_stages` in a handler that decides itself when to continue, for example because later stages depend on the
    results of earlier ones. Stages that need a failed or cancelled stage are not submitted.
    """
    children = await _submitted(job, queue, stages)
    return {name: await queue.get(child) for name, child in children.items()}


async def _submitted(job: JobContext, queue: AsyncQueue, stages: Sequence[Stage]) -> dict[str, UUID]:
    """The job id of each stage. Idempotency keys find stages that were submitted before.

    Stages that need a failed or cancelled stage are skipped, because no job can depend on it. If the parent job itself has failed and is
    being retried, failed and cancelled stages are restarted instead.
    """
    retried = bool(job.job.attempts) and job.job.attempts[-1].outcome in ("failed", "cancelled")
    children: dict[str, UUID] = {}
    blocked: set[str] = set()
    for stage in stages:
        if blocked.intersection(stage.needs):
            blocked.add(stage.name)
            continue
        submission = replace(
            stage.submission,
            stage=stage.name,
            priority=job.job.priority if stage.submission.priority is None else stage.submission.priority,
            dependencies=[children[name] for name in stage.needs],
            idempotency_key=f"{job.job_id}:{stage.name}",
        )
        try:
            child = (await job.submit(submission)).job
        except DependencyMissing:
            # A stage that it needs has failed in the meantime.
            blocked.add(stage.name)
            continue
        children[stage.name] = child.job_id
        if child.status in (JobStatus.FAILED, JobStatus.CANCELLED):
            if retried:
                await queue.retry(child.job_id)
            else:
                blocked.add(stage.name)
    return children
