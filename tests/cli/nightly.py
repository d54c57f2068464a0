"""Jobs with a schedule, for a worker that is started on them alone."""

from gateleg.jobs import JobContext, Jobs

jobs = Jobs()


@jobs.every("0 2 * * *")
async def nightly(job: JobContext, config: dict[str, str]) -> None:
    """Does nothing, every night."""
