"""From a file to chunks without vectors: which strategy and model hold, what is read, where it is cut."""

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

#: Raised when parsers or chunking change so that documents should be made anew.
FORMAT = 2


@dataclass(frozen=True, slots=True)
class Cut:
    """A document that was read and cut."""

    document: ParsedDocument
    spans: list[Span]
    #: metadata of each chunk beside the document's, for chunks that were sent as such
    extras: list[dict[str, Any]] = field(default_factory=list)


def checked_override(collection: Collection, override: Mapping[str, Any]) -> Strategy:
    """The strategy that somebody asks for in an ingestion. Raises `BadChunking`, and `OverrideRefused` where the collection forbids it."""
    asked = parse_strategy(override)
    if not collection.allow_chunking_override and asked.stored() != parse_strategy(collection.chunking_strategy).stored():
        name = collection.name or collection.collection_id
        raise OverrideRefused(f"The collection {name} does not allow another chunking strategy for an ingestion.")
    return asked


def chosen_strategy(
    repository: Repository, collection: Collection, override: Mapping[str, Any] | None, pipeline: Pipeline | None = None
) -> Strategy:
    """The strategy of a document: its own, else that of its pipeline, its collection, or the repository's first pipeline that has one,
    else the usual one."""
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
    """The pipeline that a document came from, as it is now."""
    pipelines = (*(collection.pipelines or ()), *(repository.config.pipelines or ()))
    return next((one for one in pipelines if one.pipeline_id == pipeline_id), None)


def strategy_of(pipeline: Pipeline) -> Strategy | None:
    """The strategy that a pipeline names, in either of its forms; None when it leaves that to its collection."""
    if pipeline.chunking_strategy is not None:
        return parse_strategy(pipeline.chunking_strategy)
    return legacy_strategy(pipeline.chunk_size, pipeline.chunk_overlap)


def parse_bounds(settings: RagSettings) -> ParseBounds:
    """What reading a document may cost on this host."""
    return ParseBounds(settings.parse_seconds, settings.parse_memory, settings.parse_pages, settings.parse_characters, settings.ocr)


def ingestion_digest(content: str, strategy: Strategy, model: str, merged: Mapping[str, Any], name: str) -> str:
    """What an ingestion makes chunks of, as one text: two that are equal would make the same chunks."""
    text = orjson.dumps([FORMAT, content, strategy.stored(), model, merged, name], option=orjson.OPT_SORT_KEYS, default=str)
    return hashlib.sha256(text).hexdigest()


def merged_metadata(
    repository: Repository, collection: Collection, pipeline: Pipeline | None, document: Document, config: IngestConfig
) -> dict[str, Any]:
    """The metadata of repository, collection, pipeline and document; each overrules those before it."""
    own = document.metadata if config.metadata is None else config.metadata
    found = None if pipeline is None else pipeline.metadata
    return merge_metadata(repository.config.metadata, collection.metadata, found, own)


def document_facts(document: Document, config: IngestConfig, parsed: ParsedDocument) -> dict[str, Any]:
    """The product's own fields of a chunk's metadata."""
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


async def read_source(path: Path, name: str, content_type: str | None, bounds: ParseBounds) -> Cut:
    """Read a file. Chunks that were sent as such come with their spans."""
    if content_type == PREMADE:
        document, spans, extras = await asyncio.to_thread(lambda: unpack_chunks(path.read_bytes()))
        return Cut(document, spans, extras)
    return Cut(await parse(path, name, bounds), [])


async def cut_document(cut: Cut, strategy: Strategy, embed: Any) -> Cut:
    """Cut what was read, if it was not cut before. SEMANTIC embeds with `embed`, in a thread."""
    if cut.spans:
        return cut
    tokenize = None
    if strategy.type is ChunkingType.TOKEN:
        from gateleg.ai.minilm.tokens import token_spans

        tokenize = token_spans
    headings = cut.document.headings or None
    text = cut.document.text
    found = await asyncio.to_thread(lambda: chunk(text, strategy, headings=headings, tokenize=tokenize, embed=embed))
    return replace(cut, spans=found)
