"""Options for the attributes that a job and the runs of a schedule have in common, for the commands that submit them."""

from typing import Annotated

import typer

RunQueueOption = Annotated[str | None, typer.Option("--queue", "-q", help="Queue to use instead of the job type's own.")]
PriorityOption = Annotated[int | None, typer.Option("--priority", help="0 to 100, higher first.")]
AboutOption = Annotated[str | None, typer.Option("--subject", help="What the job is about: a conversation, a project.")]
RetriesOption = Annotated[int | None, typer.Option("--max-retries", help="Maximum number of retries after failures.")]
TimeoutOption = Annotated[int | None, typer.Option("--timeout-seconds", "--timeout", help="Maximum seconds of an attempt.")]
StartWithinOption = Annotated[float | None, typer.Option("--start-within", help="Seconds after which it is no longer started.")]
ConcurrencyKeyOption = Annotated[
    str | None, typer.Option("--concurrency-key", help="At most --concurrency-limit jobs with this key run at once.")
]
ConcurrencyLimitOption = Annotated[int, typer.Option("--concurrency-limit", help="Jobs with the same concurrency key that run at once.")]
TagsOption = Annotated[list[str] | None, typer.Option("--tags", "--tag", help="A tag; may be repeated.")]
