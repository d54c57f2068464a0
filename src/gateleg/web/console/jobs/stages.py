"""The stage of a job in its tree, if it adds information to the type. Pure."""

from __future__ import annotations


def distinct_stage(job_type: str, stage: str | None) -> str | None:
    """The stage, unless it only repeats the type: `report` adds nothing to `demo.report`."""
    if not stage or stage.lower() in (job_type.lower(), job_type.lower().rpartition(".")[2]):
        return None
    return stage
