"""`Task`: the return value of `@jobs.handler`. It submits jobs with a config of the right type, or calls the function."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, Generic, TypedDict, TypeVar, Unpack, cast

from pydantic import BaseModel

from gateleg.jobs.errors import BadHandler, BadSubmission
from gateleg.jobs.submit.submission import Submission, Submitter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from uuid import UUID

    from gateleg.jobs.context import JobContext

C = TypeVar("C")
R = TypeVar("R")
S = TypeVar("S")


class SubmitOptions(TypedDict, total=False):
    """The options of `Task.submit`: the fields of `Submission` except job type and config."""

    queue: str | None
    priority: int | None
    subject: str | None
    created_by: str | None
    tenant: str | None
    job_id: UUID | None
    run_at: datetime | None
    delay: float | None
    start_within: float | None
    depends_on: Sequence[UUID]
    parent: UUID | None
    stage: str | None
    max_retries: int | None
    timeout: int | None
    concurrency_key: str | None
    concurrency_limit: int
    idempotency_key: str | None
    unique_key: str | None
    tags: Sequence[str]


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
    parameters = list(inspect.signature(handle).parameters.values())
    annotation = parameters[1].annotation if len(parameters) > 1 else None
    if isinstance(annotation, str):
        try:
            annotation = eval(annotation, getattr(handle, "__globals__", {}), _enclosed(handle))
        except Exception as error:
            raise BadHandler(
                f"The handler of {job_type} annotates its config as {annotation}, which cannot be resolved at run time: {error}.",
                fix="Import the type outside of `if TYPE_CHECKING`, or give the model as config=.",
            ) from None
    # `BaseModel` itself has no fields: it stands for any config.
    known = isinstance(annotation, type) and issubclass(annotation, BaseModel) and annotation is not BaseModel
    return annotation if known else None


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
