"""What may be done to queues and schedules: pause, resume, drain and limit a queue; write, switch, run and remove a schedule."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from gateleg.host.actions.action import Action, ActionCall
from gateleg.host.actions.jobs import SubmissionResult
from gateleg.host.job_views import QueueView, ScheduleView
from gateleg.host.principal import Role
from gateleg.jobs import ScheduleMissing
from gateleg.jobs.schedules import run_submission
from gateleg.jobs.submission import RunAttributes, Submitted
from gateleg.jobs.tables import QueueState, Schedule
from gateleg.model.types import did_you_mean

__all__ = [
    "QUEUE_ACTIONS",
    "SCHEDULE_ACTIONS",
    "NewSchedule",
    "QueueRate",
    "QueueTarget",
    "ScheduleTarget",
    "delete_schedule",
    "disable_schedule",
    "drain_queue",
    "enable_schedule",
    "limit_queue",
    "pause_queue",
    "put_schedule",
    "resume_queue",
    "run_schedule",
]

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:/-]{1,100}$")]


class QueueTarget(BaseModel):
    """A queue."""

    model_config = ConfigDict(extra="forbid")

    name: Name = Field(description="The queue's name.")


class QueueRate(QueueTarget):
    """A queue, and how many of its jobs may start in a time window."""

    starts: int = Field(ge=0, le=1_000_000, description="0 removes the limit.")
    seconds: int = Field(default=60, ge=1, le=86_400, description="The length of the window.")


@dataclass(frozen=True)
class QueueChange:
    """A queue's new state."""

    state: QueueState
    #: what is odd about its name: nobody uses the queue so far
    doubt: str = ""


async def _doubt(call: ActionCall, name: str) -> str:
    """A warning about a queue that has neither jobs nor workers: its name may be misspelt, or be used later."""
    known = await call.host.queue.queue_names()
    if name in known:
        return ""
    suggestion = did_you_mean(name, known, otherwise=f"There are {', '.join(known)}.")
    return f". No job and no worker uses the queue {name} so far. {suggestion}"


def _changing(verb: str) -> Callable[[ActionCall, QueueTarget], Awaitable[QueueChange]]:
    async def run(call: ActionCall, given: QueueTarget) -> QueueChange:
        doubt = await _doubt(call, given.name)
        change: Callable[..., Awaitable[QueueState]] = getattr(call.host.queue, verb)
        return QueueChange(await change(given.name, by=call.principal.name), doubt)

    return run


def _mode(verb: str, title: str, help: str) -> Action[QueueTarget, QueueChange]:
    return Action(
        name=f"queue.{verb}",
        title=title,
        help=help,
        role=Role.OPERATOR,
        input=QueueTarget,
        run=_changing(verb),
        http=f"POST /api/jobs/queues/{{name:path}}/{verb}",
        command=f"jobs {verb}",
        target=lambda given, change: given.name,
        reply=lambda change: QueueView.of(change.state),
        reply_type=QueueView,
        done=lambda change: f"{change.state.name} is {change.state.mode}{change.doubt}",
    )


pause_queue = _mode("pause", "Pause", "Pause a queue: no more jobs are started; running ones continue.")
resume_queue = _mode("resume", "Resume", "Resume a paused or draining queue.")
drain_queue = _mode("drain", "Drain", "Drain a queue: no new jobs are accepted; waiting ones are still run.")


async def _set_rate(call: ActionCall, given: QueueRate) -> QueueChange:
    doubt = await _doubt(call, given.name)
    return QueueChange(await call.host.queue.set_rate(given.name, given.starts, seconds=given.seconds, by=call.principal.name), doubt)


def _rate_in_words(change: QueueChange) -> str:
    state = change.state
    limit = f"starts at most {state.rate:,} jobs in {state.rate_seconds:,} s" if state.rate else "has no rate limit"
    return f"{state.name} {limit}{change.doubt}"


limit_queue = Action(
    name="queue.rate",
    title="Rate",
    help="Limit the starts of a queue to a number of jobs in each time window. Windows are aligned to the clock.",
    role=Role.OPERATOR,
    input=QueueRate,
    run=_set_rate,
    http="PUT /api/jobs/queues/{name:path}/rate",
    command="jobs rate",
    target=lambda given, change: given.name,
    details=lambda given, change: {"starts": given.starts, "seconds": given.seconds},
    reply=lambda change: QueueView.of(change.state),
    reply_type=QueueView,
    done=_rate_in_words,
)

QUEUE_ACTIONS = (pause_queue, resume_queue, drain_queue, limit_queue)


class ScheduleTarget(BaseModel):
    """A schedule."""

    model_config = ConfigDict(extra="forbid")

    name: Name = Field(description="The schedule's name.")


class NewSchedule(RunAttributes, defer_build=False):
    """When a job is submitted: by cron fields, or at an interval in seconds. The other attributes are those of its jobs."""

    name: Name = Field(description="The schedule's name.")
    job_type: Annotated[str, Field(min_length=1, max_length=500, description="A job type of the application.")]
    config: dict[str, Any] = Field(default={}, validation_alias=AliasChoices("config", "job_config"), description="The config of its jobs.")
    cron: Annotated[str, Field(max_length=200)] | None = Field(default=None, description="Minute, hour, day, month and weekday.")
    every: int | None = Field(default=None, ge=1, le=366 * 86_400, description="Seconds between two runs.")
    timezone: Annotated[str, Field(min_length=1, max_length=100)] = Field(default="UTC", description="The time zone of `cron`.")
    enabled: bool = Field(default=True, description="Whether it runs.")
    max_delay: int = Field(default=600, ge=0, le=366 * 86_400, description="A run that is later than this many seconds is skipped.")


async def _put(call: ActionCall, given: NewSchedule) -> Schedule:
    submission = given.submission(given.job_type, given.config)
    return await call.host.queue.schedule(
        given.name,
        submission,
        cron=given.cron,
        every=given.every,
        timezone=given.timezone,
        max_delay=given.max_delay,
        enabled=given.enabled,
    )


def _next_in_words(schedule: Schedule) -> str:
    if not schedule.active or schedule.next_run_at is None:
        return f"{schedule.name} is disabled"
    return f"{schedule.name} runs next at {schedule.next_run_at:%Y-%m-%d %H:%M:%S} UTC"


put_schedule = Action(
    name="schedule.put",
    title="Save",
    help="Create or replace a schedule.",
    role=Role.OPERATOR,
    input=NewSchedule,
    run=_put,
    http="PUT /api/jobs/schedules/{name:path}",
    command="jobs schedules add",
    hand_made=True,
    target=lambda given, schedule: given.name,
    details=lambda given, schedule: {"job_type": given.job_type, "cron": given.cron, "every": given.every},
    reply=ScheduleView.of,
    reply_type=ScheduleView,
    done=_next_in_words,
)


async def _delete(call: ActionCall, given: ScheduleTarget) -> str:
    await call.host.queue.unschedule(given.name)
    return given.name


delete_schedule = Action(
    name="schedule.delete",
    title="Remove",
    help="Remove a schedule; the jobs that it submitted stay.",
    role=Role.OPERATOR,
    input=ScheduleTarget,
    run=_delete,
    http="DELETE /api/jobs/schedules/{name:path}",
    command="jobs schedules remove",
    target=lambda given, name: name,
    reply_type=None,
    done=lambda name: f"{name} was removed",
    asks="No more jobs will be submitted. Jobs that it submitted stay.",
    dangerous=True,
)


def _switching(enabled: bool) -> Callable[[ActionCall, ScheduleTarget], Awaitable[Schedule]]:
    async def run(call: ActionCall, given: ScheduleTarget) -> Schedule:
        return await call.host.queue.set_enabled(given.name, enabled)

    return run


enable_schedule = Action(
    name="schedule.enable",
    title="Enable",
    help="Enable a schedule. Runs that it missed are skipped.",
    role=Role.OPERATOR,
    input=ScheduleTarget,
    run=_switching(True),
    http="POST /api/jobs/schedules/{name:path}/enable",
    command="jobs schedules enable",
    target=lambda given, schedule: given.name,
    reply=ScheduleView.of,
    reply_type=ScheduleView,
    done=_next_in_words,
)

disable_schedule = Action(
    name="schedule.disable",
    title="Disable",
    help="Disable a schedule.",
    role=Role.OPERATOR,
    input=ScheduleTarget,
    run=_switching(False),
    http="POST /api/jobs/schedules/{name:path}/disable",
    command="jobs schedules disable",
    target=lambda given, schedule: given.name,
    reply=ScheduleView.of,
    reply_type=ScheduleView,
    done=_next_in_words,
)


async def _run_now(call: ActionCall, given: ScheduleTarget) -> Submitted:
    schedule = await call.host.queue.find_schedule(given.name)
    if schedule is None:
        raise ScheduleMissing(f"There is no schedule {given.name!r}.")
    submission = run_submission(schedule, f"{call.principal.name}, schedule:{schedule.name}")
    return await call.host.queue.submit(replace(submission, tags=[*schedule.tags[:49], f"schedule:{schedule.name}"[:100]]))


run_schedule = Action(
    name="schedule.run",
    title="Run now",
    help="Submit a schedule's job now, in addition to its regular runs.",
    role=Role.OPERATOR,
    input=ScheduleTarget,
    run=_run_now,
    http="POST /api/jobs/schedules/{name:path}/run",
    command="jobs schedules run",
    submits=True,
    target=lambda given, answer: given.name,
    details=lambda given, answer: {"job_id": str(answer.job.job_id)},
    reply=SubmissionResult.of,
    reply_type=SubmissionResult,
    made=lambda answer: f"/api/jobs/{answer.job.job_id}",
    done=lambda answer: f"Submitted job {answer.job.job_id}",
)

SCHEDULE_ACTIONS = (put_schedule, delete_schedule, enable_schedule, disable_schedule, run_schedule)
