"""`Task`: the return value of `@jobs.handler`. It submits jobs with a config of the right type, or calls the function."""

from __future__ import annotations

import functools
import inspect
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypedDict, TypeVar, Union, Unpack, cast, get_args, get_origin

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

#: What `get_origin` returns for annotations that are composed of several: `A | B`, `Optional[A]`, `Annotated[A, ...]`.
_COMPOSED = (Union, UnionType, Annotated)


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
    start_by: datetime | None
    dependencies: Sequence[UUID]
    parent_job_id: UUID | None
    stage: str | None
    max_retries: int | None
    timeout_seconds: int | None
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
