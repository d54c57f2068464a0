"""Check that this host can use the embedding models and the pipeline folders of repositories and collections."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gateleg.ai.errors import AiError
from gateleg.apps.rag.errors import BadValue, FolderRefused
from gateleg.apps.rag.tables import Collection, Repository
from gateleg.host import Check, CheckResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.rag.drafts import PipelineDraft
    from gateleg.apps.rag.settings import RagSettings
    from gateleg.host import Resources


def check_model(resources: Resources[RagSettings], model: str | None) -> None:
    """Refuse an embedding model that is not available on this host."""
    if model is None:
        return
    try:
        resources.models.embeddings(model)
    except AiError as error:
        raise BadValue(f"The embedding model {model!r} is not available on this host: {error.message}", fix=error.fix) from None


def model_problem(resources: Resources[RagSettings], model: str) -> str | None:
    """Why this host cannot use an embedding model, and what to do; None if it can, as far as its settings tell."""
    try:
        check_model(resources, model)
    except BadValue as error:
        return f"{error.message} {error.fix}".strip()
    return None


def embedding_check(resources: Resources[RagSettings]) -> Check:
    """The check for `gateleg doctor`: whether the embedding models of all collections can be used."""

    async def models() -> CheckResult:
        users: dict[str, str] = {}
        # The table itself, because other programs do not write the list of repositories.
        async for repository in resources.store.export(Repository):
            users.setdefault(repository.config.embedding_model_id, repository.repository_id)
            async for row in resources.store.query(Collection.in_repository, repository_id=repository.repository_id):
                users.setdefault(row.embedding_model, f"{row.repository_id}/{row.collection_id}")
        problems = {place: problem for model, place in users.items() if (problem := model_problem(resources, model)) is not None}
        if not problems:
            return CheckResult("ok", f"the {len(users)} embedding models of the collections are available")
        place, problem = next(iter(problems.items()))
        return CheckResult(
            "warning",
            f"{len(problems)} of {len(users)} embedding models cannot be used, such as that of {place}: {problem}",
            fix="Until then, new documents are found by keywords only. Afterwards, embed the collections again.",
        )

    return Check("embedding models", models)


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
