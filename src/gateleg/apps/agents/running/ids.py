"""Deterministic ids for a run's items: derived from run and step, so a retried attempt writes the same items. They sort by time."""

from __future__ import annotations

import hashlib

__all__ = ["call_uuid", "end_of_run", "message_uuid", "step_of", "task_uuid"]


def message_uuid(run_uuid: str, step: int) -> str:
    """The id of a message of a run: number 0 is the question, the others are model replies."""
    return f"{run_uuid}-{step:03d}"


def call_uuid(run_uuid: str, step: int, number: int) -> str:
    """The id of a tool call of a reply."""
    return f"{message_uuid(run_uuid, step)}-{number:02d}"


def step_of(run_uuid: str, uuid: str) -> int | None:
    """The step of a message or tool call; None if a client recorded it under an id of its own."""
    text = uuid.removeprefix(f"{run_uuid}-")[:3]
    return int(text) if uuid.startswith(f"{run_uuid}-") and text.isdigit() else None


def end_of_run(run_uuid: str) -> str:
    """A bound that sorts after all ids of a run and before those of later runs."""
    return f"{run_uuid}-~"


def task_uuid(owner: str, key: str) -> str:
    """The task id for an idempotency key: equal for the same key of the same user."""
    return f"key-{hashlib.sha256(f'{owner}|{key}'.encode()).hexdigest()[:40]}"
