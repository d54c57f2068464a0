"""The stage of a job in its tree, where it says more than the type does. Pure."""

from __future__ import annotations


def telling_stage(job_type: str, stage: str | None) -> str | None:
    """The stage, unless it only repeats the type: `report` of `demo.report` tells nothing."""
    if not stage or stage.lower() in (job_type.lower(), job_type.lower().rpartition(".")[2]):
        return None
    return stage
