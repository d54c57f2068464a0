"""Decide which objects a pipeline includes and which of them to ingest. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from gateleg.apps.rag.errors import BadValue
from gateleg.apps.rag.tables import DocumentStatus
from gateleg.jobs import BadSchedule
from gateleg.jobs.handlers import DeclaredSchedule

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from gateleg.apps.rag.tables import Document, Pipeline

#: The suffix of metadata files that another system writes beside its documents.
_COMPANION = ".metadata.json"


@dataclass(frozen=True, slots=True)
class SourceObject:
    """An object or file in the source of a pipeline."""

    key: str
    size: int
    etag: str
    modified: datetime


def matches(key: str, prefix: str, include: Sequence[str], exclude: Sequence[str]) -> bool:
    """Whether a key is below the prefix, matches one of `include` (or `include` is empty), and matches none of `exclude`.

    A pattern with a slash is compared with the key below the prefix (`drafts/*`), others with the last part of the key (`*.pdf`).
    """
    if not key.startswith(prefix) or key.endswith(("/", _COMPANION)):
        return False
    below = key.removeprefix(prefix).lstrip("/")
    if any(part.startswith(".") for part in below.split("/")):
        return False
    return (not include or _is_like(below, include)) and not _is_like(below, exclude)


def _is_like(key: str, patterns: Sequence[str]) -> bool:
    last = key.rpartition("/")[2]
    return any(fnmatchcase(key if "/" in pattern else last, pattern) for pattern in patterns)


def includes_key(pipeline: Pipeline, key: str) -> bool:
    """Whether a pipeline includes a key."""
    return matches(key, pipeline.s3_prefix if pipeline.folder is None else "", pipeline.include, pipeline.exclude)


def needs_ingestion(seen: SourceObject, document: Document | None, *, again: bool = False) -> bool:
    """Whether to ingest an object: it is new or has changed; with `again`, also if its ingestion failed or made no vectors."""
    if document is None or document.source_etag != seen.etag:
        return True
    return again and (document.status is DocumentStatus.FAILED or document.keywords_only is not None)


def cron_of(pipeline: Pipeline) -> str | None:
    """The cron expression of a scheduled pipeline; None for the trigger `event`."""
    if pipeline.trigger == "event":
        return None
    return pipeline.cron or "0 0 * * *"


def check_pipeline(pipeline: Pipeline) -> None:
    """Refuse an invalid prefix or schedule when a pipeline is declared."""
    prefix = pipeline.s3_prefix
    if prefix.startswith("/") or any(part in (".", "..") for part in prefix.split("/")):
        raise BadValue(
            f"s3Prefix {prefix!r} begins with a slash, or contains a '.' or '..' segment.",
            fix="Write it like the beginning of a key: 'legal/'.",
        )
    cron = cron_of(pipeline)
    try:
        if cron is not None:
            DeclaredSchedule("pipeline", "pipeline", cron=cron, timezone=pipeline.timezone or "UTC")
    except BadSchedule as error:
        raise BadValue(f"cron of a pipeline: {error.message}", fix=error.fix) from None
