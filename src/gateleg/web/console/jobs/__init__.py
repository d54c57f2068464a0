"""The pages about jobs: the list, one job, queues, workers, schedules, failed jobs, failed changes, the archive, and submitting."""

from gateleg.web.console.jobs import actions, dead_letters, job_details, job_page, list_page, queues, schedules, submit


def register() -> None:
    """Serve all pages about jobs. Those with a fixed path come before `/jobs/{job_id}`."""
    for page in (list_page, queues, queues, schedules, dead_letters, actions, job_details, submit, job_page):
        page.register()


__all__ = ["register"]
