"""`Jobs`: the registry of an application's job types, with their functions, their configs, their options and their schedules.

`reporting` and `giving_up` are for handlers: progress callbacks that also stop on request, and errors that are not retried. `ignored_names`
finds the names of a config that its model would ignore: they are more likely misspelt, or of another job, than meant.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, overload

from pydantic import BaseModel, ValidationError

from gateleg.errors import problem_message
from gateleg.jobs.change_feed import Notifier
from gateleg.jobs.cron import parse_cron
from gateleg.jobs.errors import BadConfig, BadHandler, BadSchedule, HandlerTaken, UnknownJobType
from gateleg.jobs.rules import Retry, is_name
from gateleg.jobs.tasks import GiveUp, Task, config_model, function_of, other_config_annotated, takes_job_second
from gateleg.model.types import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gateleg.jobs.tables.job import Job, TableNames
    from gateleg.jobs.tasks import JobContext

__all__ = ["DeclaredSchedule", "Handler", "Jobs", "JobsFactory", "ignored_names", "known_names"]

C = TypeVar("C")
M = TypeVar("M", bound=BaseModel)
R = TypeVar("R")

Runs = Literal["inline", "thread", "process"]
Handle = Callable[["JobContext", Any], Any]
_DEFAULT_RETRY = Retry()


@dataclass(frozen=True)
class JobsFactory:
    """Creates the same handlers in another process, with that process's own store and other resources.

    `address` ("module:function") names an asynchronous context manager that takes the arguments, which are JSON values, and yields the
    `Jobs`.
    """

    address: str
    arguments: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Handler:
    """A job type: its function and its options."""

    job_type: str
    handle: Handle
    config: type[BaseModel] | None = None
    result: type[BaseModel] | None = None
    queue: str = "default"
    priority: int = 50
    retry: Retry = _DEFAULT_RETRY
    #: the maximum seconds of an attempt
    timeout: int = 3600
    runs: Runs = "inline"
    #: creates the function in a process that cannot import it
    factory: JobsFactory | None = None
    #: the maximum number of jobs of its queue that one worker runs at once; None: as many as the worker has slots
    limit_per_worker: int | None = None
    #: how many jobs of its queue a worker process runs in addition to its `concurrency`, for jobs that mostly wait
    own_concurrency: int | None = None
    #: whether lists hide its jobs by default, because they are routine work
    internal: bool = False
    #: in a host, the application that the handler belongs to
    application: str | None = None
    #: the queue tables that its application brings for its jobs; None for those of the queue
    tables: TableNames | None = None

    @cached_property
    def defaults(self) -> Mapping[str, Any]:
        """The options that its jobs have if their submissions leave them out, by the names that submissions and jobs give them."""
        return {"queue": self.queue, "priority": self.priority, "max_retries": self.retry.times, "timeout_seconds": self.timeout}

    def checked_config(self, config: BaseModel | dict[str, Any] | None) -> dict[str, Any]:
        """Validate a config and return it as JSON values. Raises `BadConfig` if it is invalid."""
        if self.config is None:
            return config.model_dump(mode="json") if isinstance(config, BaseModel) else dict(config or {})
        if isinstance(config, BaseModel) and not isinstance(config, self.config):
            ignored = ignored_names(self.config, type(config).model_fields)
            if ignored:
                raise BadConfig(
                    f"The config of {self.job_type} is a {self.config.__name__}, which has no {', '.join(ignored)}, and was given as a "
                    f"{type(config).__name__}.",
                    fix=f"Submit a {self.config.__name__}, or a model with the same attributes.",
                )
        try:
            model = config if isinstance(config, self.config) else self.config.model_validate(_as_dict(config))
        except ValidationError as error:
            problems: list[dict[str, Any]] = [dict(problem) for problem in error.errors(include_url=False, include_input=False)]
            raise BadConfig(f"The config of {self.job_type} is invalid: {_problem_text(problems)}.", problems=problems) from None
        return model.model_dump(mode="json")

    def loaded_config(self, config: dict[str, Any]) -> Any:
        """A stored config as the handler's model."""
        return config if self.config is None else self.config.model_validate(config)

    def checked_result(self, result: Any) -> Any:
        """Validate a handler's result and return it as JSON values. Raises pydantic's `ValidationError` if it does not match the model."""
        if self.result is not None and not isinstance(result, self.result):
            result = self.result.model_validate(result)
        return result.model_dump(mode="json") if isinstance(result, BaseModel) else result


@dataclass(frozen=True)
class DeclaredSchedule:
    """A schedule that an application declares in its code. Its host stores it at startup."""

    name: str
    job_type: str
    #: a cron expression of five fields; None if `every` is set
    cron: str | None = None
    #: seconds between two runs
    every: int | None = None
    config: BaseModel | dict[str, Any] | None = None
    timezone: str = "UTC"
    #: a run that is later than this many seconds is skipped
    max_delay: int = 600
    subject: str | None = None

    def __post_init__(self) -> None:
        """Raise `BadSchedule` for an invalid name or time."""
        if not is_name(self.name):
            raise BadSchedule(f"{self.name!r} is not a valid name of a schedule.", fix="Use 1 to 100 letters, digits and _ . : / -")
        check_time(self.name, self.cron, self.every, self.max_delay)
        if self.cron is not None:
            # A day that never comes, such as 31 February, is found here rather than when a host starts.
            parse_cron(self.cron, self.timezone).after(datetime(2000, 1, 1, tzinfo=UTC))
            return
        seconds: Any = self.every
        if not isinstance(seconds, int):
            raise BadSchedule(
                f"The schedule {self.name} runs every {seconds!r}, which is not a whole number.", fix="Give seconds, such as 3600."
            )
        if seconds < 1:
            raise BadSchedule(f"The schedule {self.name} runs every {self.every} seconds; it must be at least 1.")


class Jobs:
    """The registry of an application's handlers. Pass it to queues and workers; there is no global registry.

    Iterating yields the handlers. `ready` tells workers of the same process in which queue a job became claimable; `updates` tells
    followers which job has logged, reported progress or ended.
    """

    def __init__(self) -> None:
        self._handlers: dict[str, Handler] = {}
        self._schedules: dict[str, DeclaredSchedule] = {}
        self.ready = Notifier()
        self.updates = Notifier()
        #: called in a worker with each job whose attempt has ended there
        self.attempt_listeners: list[Callable[[Job], object]] = []
        #: what a handler's process has measured, as JSON values, which its worker gets when the handler has ended
        self.measurements: Callable[[], Any] | None = None
        #: called in a worker with what the process of a handler has measured
        self.on_measurements: Callable[[Any], object] | None = None

    @overload
    def handler(
        self,
        job_type: str,
        *,
        config: type[M],
        result: type[BaseModel] | None = None,
        queue: str | None = None,
        priority: int = 50,
        retry: Retry | None = None,
        timeout: int = 3600,
        runs: Runs | None = None,
        limit_per_worker: int | None = None,
        own_concurrency: int | None = None,
        internal: bool = False,
    ) -> Callable[[Callable[[JobContext, M], R]], Task[M, R]]: ...

    @overload
    def handler(
        self,
        job_type: str,
        *,
        config: None = None,
        result: type[BaseModel] | None = None,
        queue: str | None = None,
        priority: int = 50,
        retry: Retry | None = None,
        timeout: int = 3600,
        runs: Runs | None = None,
        limit_per_worker: int | None = None,
        own_concurrency: int | None = None,
        internal: bool = False,
    ) -> Callable[[Callable[[JobContext, C], R]], Task[C, R]]: ...

    def handler(
        self,
        job_type: str,
        *,
        config: type[BaseModel] | None = None,
        result: type[BaseModel] | None = None,
        queue: str | None = None,
        priority: int = 50,
        retry: Retry | None = None,
        timeout: int = 3600,
        runs: Runs | None = None,
        limit_per_worker: int | None = None,
        own_concurrency: int | None = None,
        internal: bool = False,
    ) -> Callable[[Callable[[JobContext, Any], R]], Task[Any, R]]:
        """Register a function for a job type: `@jobs.handler("PCA", runs="process")`. Returns a `Task`, which submits jobs of this type.

        `config`, `result`: pydantic models that validate the config and the function's return value. The default for `config` is the model
        that annotates the function's second parameter; without a model, any JSON object is accepted.

        `queue`, `priority`: where its jobs wait (`default`), and their priority from 0 to 100, higher first.

        `retry`, `timeout`: a failed attempt is retried 3 times with growing delays, or as the `Retry` says; an attempt may take `timeout`
        seconds.

        `runs`: `"inline"` in the worker's event loop, where the function must not block; in a `"thread"`; or in a `"process"`, the only one
        that can be killed. By default an `async def` runs inline and a `def` in a thread. A process imports the function by its name; a
        function defined inside another one must belong to an application's `jobs`, which the process then calls.

        `limit_per_worker`: how many jobs of the queue one worker runs at once, so that they leave slots for other queues. Without `queue`,
        the handler then gets a queue named after its job type.

        `own_concurrency`: how many jobs of the queue a worker process runs in addition to its `concurrency`, for handlers that mostly wait,
        such as for a streaming model. Like `limit_per_worker`, it must be the same for all handlers of a queue.

        `internal`: lists hide its jobs by default, because they are routine work.

        Raises `BadHandler` for a function or option that cannot work, and `HandlerTaken` if the job type already has a handler.
        """

        if callable(job_type):
            name = getattr(job_type, "__name__", "...")
            raise BadHandler("@jobs.handler was used without a job type.", fix=f'Write @jobs.handler("{name}").')

        def register(handle: Callable[[JobContext, Any], R]) -> Task[Any, R]:
            if isinstance(handle, Task) and any(schedule.job_type == handle.job_type for schedule in self._schedules.values()):
                raise BadHandler(
                    f"@jobs.handler({job_type!r}) is above @jobs.every, whose schedule would submit {handle.job_type} instead.",
                    fix="Write @jobs.every(...) above @jobs.handler(...).",
                )
            function = function_of(handle)
            model = config or config_model(job_type, function)
            chosen = runs or _runs_by_default(function)
            self.add(
                Handler(
                    job_type,
                    function,
                    model,
                    result,
                    queue if queue is not None else ("default" if limit_per_worker is None and own_concurrency is None else job_type),
                    priority,
                    _DEFAULT_RETRY if retry is None else retry,
                    timeout,
                    chosen,
                    limit_per_worker=limit_per_worker,
                    own_concurrency=own_concurrency,
                    internal=internal,
                )
            )
            return Task(job_type, function)

        return register

    def add(self, handler: Handler) -> None:
        """Register a handler. Raises `BadHandler` or `HandlerTaken`, like `handler`."""
        _check(handler)
        if handler.job_type in self._handlers:
            raise HandlerTaken(f"The job type {handler.job_type} already has a handler.")
        for other in self._handlers.values():
            if other.queue == handler.queue:
                _check_same_limits(handler, other)
        self._handlers[handler.job_type] = handler

    @overload
    def every(
        self,
        when: str | int,
        *,
        config: M,
        name: str | None = None,
        timezone: str = "UTC",
        max_delay: int = 600,
        subject: str | None = None,
    ) -> Callable[[Callable[[JobContext, M], R]], Task[M, R]]: ...

    @overload
    def every(
        self,
        when: str | int,
        *,
        config: dict[str, Any] | None = None,
        name: str | None = None,
        timezone: str = "UTC",
        max_delay: int = 600,
        subject: str | None = None,
    ) -> Callable[[Callable[[JobContext, C], R]], Task[C, R]]: ...

    def every(
        self,
        when: str | int,
        *,
        config: BaseModel | dict[str, Any] | None = None,
        name: str | None = None,
        timezone: str = "UTC",
        max_delay: int = 600,
        subject: str | None = None,
    ) -> Callable[[Callable[[JobContext, Any], R]], Task[Any, R]]:
        """Declare a schedule: `@jobs.every("0 2 * * *", timezone="Europe/Berlin")`, or `@jobs.every(300)` for every 300 seconds.

        Write it above `@jobs.handler(...)`; without that, the function becomes the handler of a job type named after it. Each run gets
        `config`, by default the defaults of the config's model. The schedule is named after the job type unless `name` is given. A late run
        still happens, unless it is more than `max_delay` seconds late.

        A host stores the schedules of its applications at startup; elsewhere, call `queue.declare_schedules()`. Raises `BadSchedule` for an
        invalid time, name or config, or a name that is declared twice.
        """

        if callable(when):
            raise BadSchedule("@jobs.every was used without a time.", fix='Write @jobs.every("0 2 * * *") or @jobs.every(300).')

        def declare(handle: Callable[[JobContext, Any], R]) -> Task[Any, R]:
            task = handle if isinstance(handle, Task) else self.handler(handle.__name__)(handle)
            self._check_scheduled(task.job_type, config)
            cron, seconds = (when, None) if isinstance(when, str) else (None, when)
            self.add_schedule(DeclaredSchedule(name or task.job_type, task.job_type, cron, seconds, config, timezone, max_delay, subject))
            return task

        return declare

    def _check_scheduled(self, job_type: str, config: BaseModel | dict[str, Any] | None) -> None:
        """Raise `BadSchedule` for a config that the handler does not accept."""
        handler = self.of(job_type)
        try:
            handler.checked_config(config)
        except BadConfig as refused:
            model = handler.config.__name__ if handler.config is not None else "..."
            raise BadSchedule(
                f"The schedule of {job_type} has an invalid config: {_problem_text(refused.problems)}.",
                fix=f"Set the config of its runs: @jobs.every(..., config={model}(...)).",
            ) from None

    def add_schedule(self, schedule: DeclaredSchedule) -> None:
        """Declare a schedule. Raises `BadSchedule` if its name is already declared."""
        if schedule.name in self._schedules:
            raise BadSchedule(f"The schedule {schedule.name} is declared twice.", fix="Give one of them another name=.")
        self._schedules[schedule.name] = schedule

    @property
    def limits(self) -> dict[str, int]:
        """The limit per worker of each queue that has one."""
        return {handler.queue: handler.limit_per_worker for handler in self if handler.limit_per_worker is not None}

    @property
    def own_concurrencies(self) -> dict[str, int]:
        """The own concurrency of each queue that has one."""
        return {handler.queue: handler.own_concurrency for handler in self if handler.own_concurrency is not None}

    @property
    def schedules(self) -> tuple[DeclaredSchedule, ...]:
        """The declared schedules."""
        return tuple(self._schedules.values())

    def include(
        self, other: Jobs, factory: JobsFactory | None = None, *, application: str | None = None, tables: TableNames | None = None
    ) -> None:
        """Add all handlers and declared schedules of another registry, such as an application's to its host's.

        `factory` creates that registry in another process. `tables` are the queue tables that the application brings for its jobs.
        """
        for handler in other:
            own = replace(handler, application=application or handler.application, tables=tables or handler.tables)
            self.add(replace(own, factory=factory or handler.factory))
        for schedule in other.schedules:
            self.add_schedule(schedule)

    def exclude(self, other: Jobs) -> None:
        """Undo `include`: remove all handlers and declared schedules of another registry."""
        for handler in other:
            self._handlers.pop(handler.job_type, None)
        for schedule in other.schedules:
            self._schedules.pop(schedule.name, None)

    def of(self, job_type: str) -> Handler:
        """The handler of a job type. Raises `UnknownJobType` if it has none."""
        handler = self._handlers.get(job_type)
        if handler is None:
            raise UnknownJobType(f"There is no job type {job_type!r}.", why=self._suggestion(job_type))
        return handler

    def _suggestion(self, job_type: str) -> str:
        """A hint for an unknown job type: the most similar one, or all job types but internal ones."""
        known = sorted(handler.job_type for handler in self if not handler.internal)
        if not known:
            return "No handler is registered."
        return did_you_mean(job_type, known, otherwise=f"The registered job types are {', '.join(known)}.")

    def find(self, job_type: str) -> Handler | None:
        """The handler of a job type, or None."""
        return self._handlers.get(job_type)

    def __iter__(self) -> Iterator[Handler]:
        return iter(self._handlers.values())

    def __bool__(self) -> bool:
        return bool(self._handlers)

    def __contains__(self, job_type: str) -> bool:
        return job_type in self._handlers


def _check(handler: Handler) -> None:
    if handler.runs not in get_args(Runs):
        raise BadHandler(f"The handler of {handler.job_type} has runs={handler.runs!r}.", fix=did_you_mean(handler.runs, get_args(Runs)))
    if not is_name(handler.job_type) or not is_name(handler.queue):
        raise BadHandler(
            f"The job type {handler.job_type!r} or its queue {handler.queue!r} is not a valid name.",
            fix="Use 1 to 100 letters, digits and _ . : / -",
        )
    if inspect.isasyncgenfunction(handler.handle) or inspect.isgeneratorfunction(handler.handle):
        raise BadHandler(
            f"The handler of {handler.job_type} has a yield, so calling it would run nothing.",
            fix="Return the result; send what comes before it with job.emit(...) or job.progress(...).",
        )
    if handler.runs == "inline" and not inspect.iscoroutinefunction(handler.handle):
        raise BadHandler(
            f"The handler of {handler.job_type} is not async, and would block all other jobs of its worker.",
            fix="Leave `runs` out: a plain function runs in a thread. Or declare it with `async def`, and await.",
        )
    try:
        inspect.signature(handler.handle).bind(None, None)
    except TypeError as error:
        raise BadHandler(f"The handler of {handler.job_type} cannot be called with a job and a config: {error}.") from None
    if takes_job_second(handler.handle):
        raise BadHandler(
            f"The handler of {handler.job_type} takes its config first and its job second.",
            fix="Write the job first: `async def handle(job: JobContext, config: ...)`.",
        )
    for option in ("config", "result"):
        model = getattr(handler, option)
        if model is not None and not (isinstance(model, type) and issubclass(model, BaseModel)):
            model_name = getattr(model, "__name__", repr(model))
            raise BadHandler(
                f"The handler of {handler.job_type} has {option}={model_name}, which is not a pydantic model.",
                fix=f"Give a subclass of BaseModel, or omit {option} to accept any JSON object.",
            )
    if handler.config is not None and (annotated := other_config_annotated(handler.handle, handler.config)) is not None:
        raise BadHandler(
            f"The handler of {handler.job_type} has config={handler.config.__name__}, and annotates its config as {annotated.__name__}.",
            fix="Omit config=: the annotation is enough. Or annotate the parameter with the same model.",
        )
    for name in ("limit_per_worker", "own_concurrency"):
        if (number := getattr(handler, name)) is not None and number < 1:
            raise BadHandler(
                f"The handler of {handler.job_type} has {name}={number}; it must be at least 1.", fix="Leave it out for no limit."
            )
    if not isinstance(handler.retry, Retry):
        raise BadHandler(f"The handler of {handler.job_type} has retry={handler.retry!r}.", fix="Write retry=Retry(times=3).")
    for name in ("timeout", "priority"):
        if not isinstance(number := getattr(handler, name), int):
            fix = "Give seconds, such as timeout=60." if name == "timeout" else "Give a priority from 0 to 100, such as priority=80."
            raise BadHandler(f"The handler of {handler.job_type} has {name}={number!r}; it must be a whole number.", fix=fix)
    if handler.timeout < 1:
        raise BadHandler(f"The handler of {handler.job_type} has timeout={handler.timeout}.", fix="Give at least 1 second.")
    if not 0 <= handler.priority <= 100:
        raise BadHandler(f"The handler of {handler.job_type} has priority={handler.priority}.", fix="Give a priority from 0 to 100.")


def _check_same_limits(handler: Handler, other: Handler) -> None:
    """Raise `BadHandler` if two handlers of one queue differ in an option that applies to the whole queue."""
    for name, what in (("limit_per_worker", "limits per worker"), ("own_concurrency", "own concurrencies")):
        limit, other_limit = getattr(handler, name), getattr(other, name)
        if limit != other_limit:
            raise BadHandler(
                f"{handler.job_type} and {other.job_type} share the queue {handler.queue} and have different {what}: "
                f"{limit or 'none'} and {other_limit or 'none'}.",
                fix="Use separate queues, or the same number for both.",
            )


def check_time(name: str, cron: str | None, every: int | None, max_delay: int) -> None:
    """Raise `BadSchedule` if the options of a schedule's time contradict each other."""
    if cron is None and every is None:
        raise BadSchedule(f"The schedule {name} has no time.")
    if cron is not None and every is not None:
        raise BadSchedule(f"The schedule {name} has both cron fields and an interval.", fix="Give one of them.")
    if max_delay < 0:
        raise BadSchedule(f"The schedule {name} has max_delay={max_delay}, and would never run.", fix="Give at least 0 seconds.")


def _runs_by_default(function: Callable[..., Any]) -> Runs:
    return "inline" if inspect.iscoroutinefunction(function) else "thread"


def _problem_text(problems: list[dict[str, Any]]) -> str:
    """The problems that pydantic found, in one line."""
    return "; ".join(f"{'.'.join(map(str, problem['loc'])) or 'config'}: {problem_message(problem)}" for problem in problems)


def _as_dict(config: BaseModel | dict[str, Any] | None) -> dict[str, Any]:
    return config.model_dump() if isinstance(config, BaseModel) else dict(config or {})


def reporting(job: JobContext) -> Callable[[float, str], None]:
    """Return a progress callback, `report(done, step)`, to pass to long computations. It can be called from any thread.

    `done` is the fraction from 0 to 1, `step` the name of the current step. Each call sets the job's progress, logs the step if it is new,
    and raises `Stopped` if the job must stop.
    """
    logged = ""

    def report(done: float, step: str) -> None:
        nonlocal logged
        job.check()
        job.progress(done, 1.0, step)
        if step != logged:
            job.log(step)
            logged = step

    return report


@contextmanager
def giving_up(*errors: type[Exception]) -> Iterator[None]:
    """A context manager that turns these errors into `GiveUp`, so that the job fails without retries: `with giving_up(AiError): ...`.

    An error with a true attribute `passing` (a temporary failure) is raised unchanged, so that the job is retried.
    """
    try:
        yield
    except errors as error:
        if getattr(error, "passing", False):
            raise
        raise GiveUp(str(error)) from error


def known_names(model: type[BaseModel]) -> frozenset[str] | None:
    """The names that a model accepts in its input; None if they cannot be listed, or if the model accepts or refuses others itself."""
    if model.model_config.get("extra") in ("allow", "forbid"):
        return None
    if any(validator.info.mode != "after" for validator in model.__pydantic_decorators__.model_validators.values()):
        return None
    known = {*model.model_fields}
    for declared in model.model_fields.values():
        alias = declared.validation_alias if declared.validation_alias is not None else declared.alias
        if alias is not None and not isinstance(alias, str):
            return None
        known |= {alias} if alias else set()
    return frozenset(known)


def ignored_names(model: type[BaseModel], names: Iterable[str]) -> list[str]:
    """The given names that the model would ignore."""
    known = known_names(model)
    return [] if known is None else [name for name in names if name not in known]
