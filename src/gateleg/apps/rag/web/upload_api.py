"""Resumable uploads of large files at `/api/rag/uploads/document`, for callers who may add documents to a collection.

The metadata of an upload names the collection. When the upload is complete, `POST .../bulk` ingests its key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.rag.access import Action, Caller
from gateleg.apps.rag.collections import DEFAULT_ALIAS, open_collection
from gateleg.apps.rag.errors import BadValue
from gateleg.apps.rag.ingesting.submission import document_id_of
from gateleg.apps.rag.object_keys import source_key
from gateleg.apps.rag.rules import check_accepts_documents
from gateleg.web.uploads import FormFields, UploadKind, UploadRules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.apps.rag.settings import RagSettings
    from gateleg.host import Principal, Resources
    from gateleg.web.uploads import PendingUpload

#: The kind of the upload in its address, and the names of its metadata.
KIND, REPOSITORY, COLLECTION, USER = "document", "repositoryId", "collectionId", "username"


class DocumentDetails(FormFields):
    """The metadata of an upload."""

    repository_id: str | None = None
    collection_id: str | None = None


def document_kind(resources: Resources[RagSettings]) -> UploadKind:
    """The upload kind of documents. Access is checked when an upload begins, and again when it is ingested."""

    async def check(principal: Principal, details: Mapping[str, str]) -> Mapping[str, str]:
        caller, sent = Caller(principal, resources.settings.admin_group), DocumentDetails(**details)
        if not sent.repository_id:
            raise BadValue("An upload needs the id of a repository.", fix=f"Send it in the metadata as {REPOSITORY}.")
        opened = await open_collection(resources.store, caller, sent.repository_id, sent.collection_id or DEFAULT_ALIAS, Action.INGEST)
        check_accepts_documents(opened.repository, opened.collection)
        return {REPOSITORY: sent.repository_id, COLLECTION: opened.collection.collection_id, USER: caller.user}

    return UploadKind(KIND, UploadRules(resources.settings.upload_bytes), key_of, details=DocumentDetails, check=check)


def key_of(upload: PendingUpload) -> str:
    """The key of the uploaded object. The document id depends on user and name, the object key also on the upload."""
    repository_id, collection_id, user = (upload.details[name] for name in (REPOSITORY, COLLECTION, USER))
    document_id = document_id_of(repository_id, collection_id, f"upload:{user}:{upload.name}")
    return source_key(repository_id, collection_id, document_id, f"{upload.upload_id[:16]}/{upload.name}")
