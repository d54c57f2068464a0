"""Validation of names, tags, custom fields, groups and pipelines, and of whether a collection accepts documents. Pure."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

import orjson

from gateleg.apps.rag.chunking import parse_strategy
from gateleg.apps.rag.errors import BadGroups, BadValue, ImmutableField, NotActive
from gateleg.apps.rag.pipelines.matching import check_pipeline
from gateleg.apps.rag.tables import (
    LONGEST_FIELD,
    LONGEST_NAME,
    LONGEST_TAG,
    MOST_CUSTOM_BYTES,
    MOST_TAGS,
    NAME_PATTERN,
    READY,
    REPOSITORY_ID_PATTERN,
    TAG_PATTERN,
    CollectionStatus,
    Metadata,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from gateleg.apps.rag.drafts import PipelineDraft
    from gateleg.apps.rag.tables import Collection, Pipeline, Repository


def check_name(name: str) -> str:
    """Return a collection name in composed Unicode form (NFC), or raise `BadValue`."""
    name = unicodedata.normalize("NFC", name)
    if not 1 <= len(name) <= LONGEST_NAME or not re.fullmatch(NAME_PATTERN, name):
        raise BadValue(
            f"{name[:LONGEST_NAME]!r} is not a valid collection name.",
            fix=f"Use 1 to {LONGEST_NAME} letters, digits, spaces and . , ( ) & ' + - _, without a space at either end.",
        )
    return name


def check_repository_id(repository_id: str) -> str:
    """Return a valid id of a new repository, or raise `BadValue`."""
    if not re.fullmatch(REPOSITORY_ID_PATTERN, repository_id):
        raise BadValue(
            f"repositoryId must have 3 to 20 lower-case letters, digits or hyphens, with no hyphen at either end; got {repository_id!r}.",
            fix="Choose another repositoryId.",
        )
    return repository_id


def check_metadata(metadata: Metadata | None) -> Metadata | None:
    """Return the metadata unchanged; raise `BadValue` for too many or malformed tags, or for custom fields that are too large."""
    if metadata is None:
        return None
    if len(metadata.tags) > MOST_TAGS:
        raise BadValue(f"metadata.tags has {len(metadata.tags)} tags; {MOST_TAGS} are allowed.", fix="Remove some tags.")
    for tag in metadata.tags:
        if len(tag) > LONGEST_TAG or not re.fullmatch(TAG_PATTERN, tag):
            raise BadValue(
                f"metadata.tags: {tag[:60]!r} is not a valid tag.",
                fix=f"A tag has 1 to {LONGEST_TAG} ASCII letters, digits, hyphens or underscores.",
            )
    check_custom_fields(metadata.custom_fields)
    return metadata


def check_custom_fields(fields: dict[str, object]) -> None:
    """Refuse custom fields that are too large for an item or cannot be expressed as JSON, and names that are empty or too long."""
    for name in fields:
        if not 1 <= len(name) <= LONGEST_FIELD:
            raise BadValue(
                f"metadata.customFields has a name of {len(name)} characters: {name[:60]!r}.",
                fix=f"Use names of 1 to {LONGEST_FIELD} characters.",
            )
    try:
        size = len(orjson.dumps(fields))
    except TypeError as error:
        raise BadValue(
            f"metadata.customFields is not JSON: {error}.", fix="Use text, numbers, booleans, null, lists and objects."
        ) from None
    if size > MOST_CUSTOM_BYTES:
        raise BadValue(
            f"metadata.customFields has {size:,} bytes as JSON; {MOST_CUSTOM_BYTES:,} are allowed.",
            fix="Move large values into a document and refer to it.",
        )


def check_groups(groups: Sequence[str] | None, repository: Repository) -> list[str] | None:
    """Return the groups of a collection without duplicates, or None to inherit. Raise `BadGroups` for groups that its repository lacks."""
    if not groups:
        return None
    own = repository.config.allowed_groups
    foreign = sorted(set(groups) - set(own)) if own else []
    if foreign:
        raise BadGroups(f"The repository {repository.repository_id} has no group {', '.join(foreign)}.")
    return list(dict.fromkeys(groups))


def check_strategy(strategy: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Convert a chunking strategy from any accepted form to its stored form. None stands for the default."""
    return None if strategy is None else parse_strategy(strategy).stored()


def merge_pipelines(drafts: Sequence[PipelineDraft] | None, before: Sequence[Pipeline] | None) -> list[Pipeline] | None:
    """Check the pipelines of a request and match them with existing ones. A matched pipeline keeps its id and, unless new is sent, its
    metadata.

    Pipelines match by id or, if sent without an id, by collection, bucket, prefix and folder.
    """
    if not drafts:
        return None
    by_id = {pipeline.pipeline_id: pipeline for pipeline in before or ()}
    by_source = {_source_key(pipeline): pipeline for pipeline in before or ()}
    merged, kept = [], []
    for draft in drafts:
        pipeline = draft.pipeline()
        existing = by_source.get(_source_key(pipeline)) if draft.pipeline_id is None else by_id.get(draft.pipeline_id)
        if existing is not None:
            kept.append((pipeline, existing))
            pipeline.pipeline_id = existing.pipeline_id
            pipeline.metadata = pipeline.metadata or existing.metadata
        pipeline.metadata = check_metadata(pipeline.metadata)
        pipeline.chunking_strategy = check_strategy(pipeline.chunking_strategy)
        check_pipeline(pipeline)
        merged.append(pipeline)
    if len({pipeline.pipeline_id for pipeline in merged}) < len(merged):
        raise BadValue("Two pipelines have the same pipelineId, or the same source and collection.", fix="Send each of them once.")
    for pipeline, existing in kept:
        _check_source_kept(pipeline, existing)
    return merged


def _check_source_kept(pipeline: Pipeline, existing: Pipeline) -> None:
    """Refuse another source for a pipeline: its documents and its progress are those of its source, and `autoRemove` would remove them."""
    for wire, name in (("s3Bucket", "s3_bucket"), ("s3Prefix", "s3_prefix"), ("folder", "folder")):
        if getattr(pipeline, name) != getattr(existing, name):
            raise ImmutableField(
                f"{wire} of the pipeline {existing.pipeline_id!r} never changes.", fix="Declare a new pipeline for the other source."
            )


def _source_key(pipeline: Pipeline) -> tuple[str | None, str, str, str | None]:
    """The collection and the source of a pipeline, by which pipelines without an id are matched."""
    return pipeline.collection_id, pipeline.s3_bucket, pipeline.s3_prefix, pipeline.folder


def is_default(collection: Collection, repository: Repository) -> bool:
    """Whether a collection is the default collection of its repository, which contains the documents without a collection."""
    return collection.collection_id == repository.config.embedding_model_id


def check_accepts_documents(repository: Repository, collection: Collection) -> None:
    """Refuse to add documents unless the repository is ready and the collection active."""
    if repository.status not in READY:
        raise NotActive(f"The repository {repository.repository_id} is {repository.status.value}: it does not accept documents.")
    if collection.status is not CollectionStatus.ACTIVE:
        raise NotActive(
            f"The collection {collection.name or collection.collection_id} is {collection.status.value}: it does not accept documents."
        )
