"""Prepare the chunks of a file, without vectors: choose the strategy, merge the metadata, parse and split."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import orjson

from gateleg.apps.rag.chunking import ChunkingType, Span, chunk, legacy_strategy, parse_strategy
from gateleg.apps.rag.errors import OverrideRefused
from gateleg.apps.rag.ingesting.metadata import chunk_metadata, merge_metadata, without_nulls
from gateleg.apps.rag.ingesting.premade import PREMADE, unpack_chunks
from gateleg.apps.rag.parsing import ParseBounds, parse

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from gateleg.apps.rag.chunking import Strategy
    from gateleg.apps.rag.ingesting.job_types import IngestConfig
    from gateleg.apps.rag.parsing import ParsedDocument
    from gateleg.apps.rag.settings import RagSettings
    from gateleg.apps.rag.tables import Collection, Document, Pipeline, Repository

#: Increased when a change of the parsers or of chunking requires documents to be ingested again.
FORMAT = 2


@dataclass(frozen=True, slots=True)
class PreparedChunks:
    """A parsed document and the spans of its chunks."""

    document: ParsedDocument
    spans: list[Span]
    #: metadata of each chunk in addition to the document's, for pre-made chunks
    extras: list[dict[str, Any]] = field(default_factory=list)


def checked_override(collection: Collection, override: Mapping[str, Any]) -> Strategy:
    """The strategy requested for one ingestion. Raises `BadChunking`, or `OverrideRefused` if the collection does not allow it."""
    asked = parse_strategy(override)
    if not collection.allow_chunking_override and asked.stored() != parse_strategy(collection.chunking_strategy).stored():
        name = collection.name or collection.collection_id
        raise OverrideRefused(f"The collection {name} does not allow another chunking strategy for an ingestion.")
    return asked


def chosen_strategy(
    repository: Repository, collection: Collection, override: Mapping[str, Any] | None, pipeline: Pipeline | None = None
) -> Strategy:
    """The strategy of a document, from the first of these that has one: the ingestion, the document's pipeline, the collection, the
    repository's pipelines; otherwise the default strategy."""
    if override is not None:
        return parse_strategy(override)
    own = None if pipeline is None else strategy_of(pipeline)
    if own is not None:
        return own
    if collection.chunking_strategy is not None:
        return parse_strategy(collection.chunking_strategy)
    others = (strategy_of(one) for one in repository.config.pipelines or ())
    return next((found for found in others if found is not None), parse_strategy(None))


def find_pipeline(repository: Repository, collection: Collection, pipeline_id: str | None) -> Pipeline | None:
    """The current state of the pipeline that a document came from."""
    pipelines = (*(collection.pipelines or ()), *(repository.config.pipelines or ()))
    return next((one for one in pipelines if one.pipeline_id == pipeline_id), None)


def strategy_of(pipeline: Pipeline) -> Strategy | None:
    """The strategy of a pipeline, in either of its forms; None if it leaves the choice to its collection."""
    if pipeline.chunking_strategy is not None:
        return parse_strategy(pipeline.chunking_strategy)
    return legacy_strategy(pipeline.chunk_size, pipeline.chunk_overlap)


def parse_bounds(settings: RagSettings) -> ParseBounds:
    """The limits for parsing a document on this host."""
    return ParseBounds(settings.parse_seconds, settings.parse_memory, settings.parse_pages, settings.parse_characters, settings.ocr)


def ingestion_digest(content: str, strategy: Strategy, model: str, merged: Mapping[str, Any], name: str) -> str:
    """A digest of everything that determines the chunks: if it is unchanged, so are they."""
    text = orjson.dumps([FORMAT, content, strategy.stored(), model, merged, name], option=orjson.OPT_SORT_KEYS, default=str)
    return hashlib.sha256(text).hexdigest()


def merged_metadata(
    repository: Repository, collection: Collection, pipeline: Pipeline | None, document: Document, config: IngestConfig
) -> dict[str, Any]:
    """The metadata of repository, collection, pipeline and document; later ones override earlier ones."""
    own = document.metadata if config.metadata is None else config.metadata
    found = None if pipeline is None else pipeline.metadata
    return merge_metadata(repository.config.metadata, collection.metadata, found, own)


def document_facts(document: Document, config: IngestConfig, parsed: ParsedDocument) -> dict[str, Any]:
    """The reserved fields of a chunk's metadata."""
    return {
        "documentId": document.document_id,
        "documentName": config.name,
        "repositoryId": document.repository_id,
        "collectionId": document.collection_id,
        "source": config.source.url or config.source.key,
        "contentType": parsed.content_type,
        "username": config.username or None,
        "uploadDate": document.upload_date,
        "ingestionType": config.ingestion_type.value,
        "language": parsed.language,
        "title": parsed.title,
        "author": parsed.properties.get("author") or parsed.properties.get("from"),
    }


def chunks_metadata(merged: Mapping[str, Any], facts: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of one chunk as it is stored."""
    found: dict[str, Any] = without_nulls(chunk_metadata({**merged, **extra}, facts))
    return found


async def read_source(path: Path, name: str, content_type: str | None, bounds: ParseBounds) -> PreparedChunks:
    """Parse a file, or read pre-made chunks with their spans."""
    if content_type == PREMADE:
        document, spans, extras = await asyncio.to_thread(lambda: unpack_chunks(path.read_bytes()))
        return PreparedChunks(document, spans, extras)
    return PreparedChunks(await parse(path, name, bounds), [])


async def split_document(cut: PreparedChunks, strategy: Strategy, embed: Any) -> PreparedChunks:
    """Split a parsed document into spans, unless it has them already. `embed` is used by SEMANTIC, in a thread."""
    if cut.spans:
        return cut
    tokenize = None
    if strategy.type is ChunkingType.TOKEN:
        from gateleg.ai.minilm import token_spans

        tokenize = token_spans
    headings = cut.document.headings or None
    text = cut.document.text
    found = await asyncio.to_thread(lambda: chunk(text, strategy, headings=headings, tokenize=tokenize, embed=embed))
    return replace(cut, spans=found)
