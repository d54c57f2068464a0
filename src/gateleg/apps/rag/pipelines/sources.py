"""The sources of pipelines: object stores of the settings, and folders that the operator has allowed."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gateleg.apps.rag.errors import PipelineRefused
from gateleg.apps.rag.host_checks import check_folder
from gateleg.apps.rag.pipelines.matching import SourceObject

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from gateleg.apps.rag.settings import RagSettings
    from gateleg.apps.rag.tables import Pipeline
    from gateleg.host import Resources

#: Objects per page, and maximum files in a folder.
_PAGE = 500
_MOST_FILES = 1_000_000


def check_source(settings: RagSettings, stores: frozenset[str], pipeline: Pipeline) -> None:
    """Refuse a pipeline whose source is not one of the object stores and folders that the operator has configured."""
    if pipeline.folder is not None:
        check_folder(settings, pipeline.folder)
        return
    if not pipeline.s3_bucket:
        raise PipelineRefused("The pipeline names neither a bucket nor a folder.", fix="Set s3Bucket to the name of an object store.")
    if pipeline.s3_bucket not in stores:
        raise PipelineRefused(
            f"There is no object store named {pipeline.s3_bucket!r}.", fix="Ask the operator of the host to add it to object_stores."
        )


async def list_source(
    resources: Resources[RagSettings], pipeline: Pipeline, after: str | None
) -> AsyncIterator[tuple[list[SourceObject], str | None]]:
    """List the objects of a source page by page. Each page comes with the cursor that continues after it, to pass as `after`; None for the
    last page."""
    if pipeline.folder is not None:
        found = await asyncio.to_thread(_files, Path(pipeline.folder))
        left = [one for one in found if after is None or one.key > after]
        for start in range(0, len(left), _PAGE):
            page = left[start : start + _PAGE]
            yield page, page[-1].key if start + _PAGE < len(left) else None
        return
    objects, cursor = resources.objects_named(pipeline.s3_bucket), after
    while True:
        listed = await objects.list(pipeline.s3_prefix, cursor=cursor, limit=_PAGE)
        cursor = listed.cursor
        yield [SourceObject(one.key, one.size, one.etag, one.modified) for one in listed.objects], cursor
        if cursor is None:
            return


def _files(folder: Path) -> list[SourceObject]:
    """The files below a folder, sorted by path. Symbolic links are skipped, because they may lead out of the folder."""
    if not folder.is_dir():
        raise PipelineRefused(f"There is no folder {str(folder)!r} on this machine.")
    found = []
    for path in folder.rglob("*"):
        if path.is_symlink() or not path.is_file():
            continue
        facts = path.stat()
        # A file that was moved here keeps its modification time, so its status change time counts, too.
        changed = datetime.fromtimestamp(max(facts.st_mtime, facts.st_ctime), UTC)
        key = path.relative_to(folder).as_posix()
        found.append(SourceObject(key, facts.st_size, f"{facts.st_mtime_ns:x}-{facts.st_size:x}", changed))
        if len(found) > _MOST_FILES:
            raise PipelineRefused(f"The folder has more than {_MOST_FILES:,} files.", fix="Choose a subfolder.")
    return sorted(found, key=lambda one: one.key)
