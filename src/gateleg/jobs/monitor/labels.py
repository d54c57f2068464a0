"""Labels that distinguish jobs of the same type: the subject, or the part of the config that differs. Pure."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from uuid import UUID

    from gateleg.jobs.monitor.trees import Branch
    from gateleg.jobs.tables.job import Job

__all__ = ["distinct_stage", "labels", "lookalikes"]

#: The maximum length of a label, and the maximum number of values in it.
_MAX_LABEL_CHARACTERS, _MAX_VALUES = 48, 2


def distinct_stage(job_type: str, stage: str | None) -> str | None:
    """The stage, unless it only repeats the type: `report` adds nothing to `demo.report`."""
    if not stage or stage.lower() in (job_type.lower(), job_type.lower().rpartition(".")[2]):
        return None
    return stage


def labels(jobs: Iterable[Job]) -> dict[UUID, str]:
    """Labels for jobs with the same parent, type and stage, which would otherwise look alike.

    Other jobs have none. Jobs without any difference are labelled with the beginning of their id.
    """
    alike: dict[tuple[Any, ...], list[Job]] = {}
    for job in jobs:
        alike.setdefault((job.parent_job_id, job.job_type, distinct_stage(job.job_type, job.job_stage)), []).append(job)
    return {job_id: label for group in alike.values() if len(group) > 1 for job_id, label in _distinguish(group).items()}


def lookalikes(branch: Branch, order: Callable[[Sequence[Branch]], Sequence[Branch]] = tuple) -> list[UUID]:
    """The jobs of a tree that share type and stage with a sibling; siblings in the order that `order` gives them."""
    found: list[UUID] = []
    for parent in branch:
        names = Counter((child.job_type, child.stage) for child in parent.children)
        found += [child.job_id for child in order(parent.children) if names[child.job_type, child.stage] > 1]
    return found


def _distinguish(group: Sequence[Job]) -> dict[UUID, str]:
    subjects = [job.subject or "" for job in group]
    if len(set(subjects)) == len(group):
        return {job.job_id: _shortened(job.subject or str(job.job_id)[:8]) for job in group}
    differing = _differing([_flat(job.job_config) for job in group])
    several = len(set(subjects)) > 1
    return {
        job.job_id: _shortened(", ".join([*([job.subject] if several and job.subject else []), *words]) or str(job.job_id)[:8])
        for job, words in zip(group, differing, strict=True)
    }


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_LABEL_CHARACTERS else f"{text[: _MAX_LABEL_CHARACTERS - 1]}…"


def _differing(configs: Sequence[Mapping[str, str]]) -> list[list[str]]:
    """The values of each config that the others do not have: of one field if that is enough, or of the first few that differ."""
    names = list(dict.fromkeys(name for config in configs for name in config))
    differing = [name for name in names if len({config.get(name) for config in configs}) > 1]
    enough = next(([name] for name in differing if len({config.get(name) for config in configs}) == len(configs)), differing[:_MAX_VALUES])
    return [[f"{name} {config[name]}" for name in enough if name in config] for config in configs]


def _flat(config: Mapping[str, Any], above: str = "") -> dict[str, str]:
    """A config as texts by name; names in nested objects are joined with dots."""
    found: dict[str, str] = {}
    for name, value in config.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{above}{name}.")
        else:
            found[f"{above}{name}"] = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return found
