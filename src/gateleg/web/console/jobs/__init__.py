"""The pages about jobs: the list, one job, queues, workers, schedules, failed jobs, failed changes, the archive, and submitting."""

from gateleg.web.console.jobs import archived, changes, dead_letters, job, listing, queues, schedules, submit, workers


def register() -> None:
    """Serve all pages about jobs. Those with a fixed path come before `/jobs/{job_id}`."""
    for page in (listing, queues, workers, schedules, dead_letters, changes, archived, submit, job):
        page.register()


__all__ = ["register"]
