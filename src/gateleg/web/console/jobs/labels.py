"""Labels that distinguish jobs of the same type: the subject, or the part of the config that differs. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gateleg.web.console.jobs.stages import distinct_stage
from gateleg.web.console.texts import truncate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from uuid import UUID

    from gateleg.jobs import Job

#: The maximum length of a label, and the maximum number of values in it.
_MAX_LABEL_CHARACTERS, _MAX_VALUES = 48, 2


def labels(jobs: Iterable[Job]) -> dict[UUID, str]:
    """Labels for jobs with the same parent, type and stage, which would otherwise look alike.

    Other jobs have none. Jobs without any difference are labelled with the beginning of their id.
    """
    alike: dict[tuple[Any, ...], list[Job]] = {}
    for job in jobs:
        alike.setdefault((job.parent_job_id, job.job_type, distinct_stage(job.job_type, job.job_stage)), []).append(job)
    return {job_id: label for group in alike.values() if len(group) > 1 for job_id, label in _distinguish(group).items()}


def _distinguish(group: Sequence[Job]) -> dict[UUID, str]:
    subjects = [job.subject or "" for job in group]
    if len(set(subjects)) == len(group):
        return {job.job_id: truncate(job.subject or str(job.job_id)[:8], _MAX_LABEL_CHARACTERS) for job in group}
    differing = _differing([_flat(job.job_config) for job in group])
    several = len(set(subjects)) > 1
    return {
        job.job_id: truncate(
            ", ".join([*([job.subject] if several and job.subject else []), *words]) or str(job.job_id)[:8], _MAX_LABEL_CHARACTERS
        )
        for job, words in zip(group, differing, strict=True)
    }


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
