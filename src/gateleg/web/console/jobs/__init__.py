"""The pages about jobs: the list, one job, queues, workers, schedules, failed jobs, the archive, and submitting."""

from gateleg.web.console.jobs import archived, dead, job, listing, queues, schedules, submit, workers


def register() -> None:
    """Serve all pages about jobs. Those with a name of their own come before `/jobs/{job_id}`."""
    for page in (listing, queues, workers, schedules, dead, archived, submit, job):
        page.register()


__all__ = ["register"]
