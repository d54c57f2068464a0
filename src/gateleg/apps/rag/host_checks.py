"""Check that this host can use the embedding model and the pipeline folders of a new repository or collection."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gateleg.ai.errors import AiError
from gateleg.apps.rag.errors import BadValue, FolderRefused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.rag.drafts import PipelineDraft
    from gateleg.apps.rag.settings import RagSettings
    from gateleg.web import Resources


def check_model(resources: Resources[RagSettings], model: str | None) -> None:
    """Refuse an embedding model that is not available on this host."""
    if model is None:
        return
    try:
        resources.models.embeddings(model)
    except AiError as error:
        raise BadValue(f"The embedding model {model!r} is not available on this host: {error.message}", fix=error.fix) from None


def check_folders(settings: RagSettings, pipelines: Sequence[PipelineDraft] | None) -> None:
    """Refuse pipelines with a folder that the operator has not allowed."""
    for pipeline in pipelines or ():
        if pipeline.folder is not None:
            check_folder(settings, pipeline.folder)


def check_folder(settings: RagSettings, folder: str) -> None:
    """Refuse a folder that is not below one of `pipeline_folders`."""
    found = Path(folder).resolve()
    if not any(found.is_relative_to(Path(allowed).resolve()) for allowed in settings.pipeline_folders):
        raise FolderRefused(f"Pipelines may not read the folder {folder!r}.")
