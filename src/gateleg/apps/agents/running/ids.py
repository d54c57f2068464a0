"""The ids of what a run writes. They follow from the run and the step, so a second attempt writes the same items, and sort by time."""

from __future__ import annotations

import hashlib

__all__ = ["call_uuid", "end_of_run", "message_uuid", "step_of", "task_uuid"]


def message_uuid(run_uuid: str, step: int) -> str:
    """The id of a message of a run: 0 is the question, the others are the replies of the model."""
    return f"{run_uuid}-{step:03d}"


def call_uuid(run_uuid: str, step: int, number: int) -> str:
    """The id of a tool call of a reply."""
    return f"{message_uuid(run_uuid, step)}-{number:02d}"


def step_of(run_uuid: str, uuid: str) -> int | None:
    """The step that a message or a tool call of a run belongs to; None for one that was written by somebody else."""
    text = uuid.removeprefix(f"{run_uuid}-")[:3]
    return int(text) if uuid.startswith(f"{run_uuid}-") and text.isdigit() else None


def end_of_run(run_uuid: str) -> str:
    """A text that sorts after all ids of a run, and before those of runs that began later."""
    return f"{run_uuid}-~"


def task_uuid(owner: str, key: str) -> str:
    """The id of the task of a question with an idempotency key: the same for the same key of the same user."""
    return f"key-{hashlib.sha256(f'{owner}|{key}'.encode()).hexdigest()[:40]}"
