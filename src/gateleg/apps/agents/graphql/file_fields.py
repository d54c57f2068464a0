"""Queries and mutations of files."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

import strawberry
from strawberry.types.unset import UNSET

from gateleg.apps.agents.errors import BadField, NotFoundInPartition
from gateleg.apps.agents.files import LONGEST, StoredFile, find_file, own_key, read_file, store_file
from gateleg.apps.agents.graphql.calls import Call, Info
from gateleg.apps.agents.graphql.fields import SavePayload, resolver_field, save_payload_type, stored_arguments
from gateleg.apps.agents.graphql.scalars import JSON
from gateleg.apps.agents.graphql.thread_types import FileType, PresignedAWSS3UrlType
from gateleg.apps.agents.tables import Agent
from gateleg.apps.agents.threads import get_thread

UploadFile = save_payload_type("UploadFile", "uploadedFile", FileType)
_METHODS = {"put_object": "PUT", "get_object": "GET"}


@dataclass(frozen=True)
class _File:
    """A file as clients see it."""

    identity: str
    value: str
    file_detail: dict[str, Any]


@dataclass(frozen=True)
class _Signed:
    """A signed URL as clients see it."""

    url: str
    object_key: str
    expiration: int


@strawberry.type
class FileQueries:
    """Queries of files."""

    @resolver_field(FileType | None)
    async def uploaded_file(self, info: Info, agent_uuid: str, arguments: JSON) -> _File | None:
        """A file that the caller uploaded: `{fileId}`, and `{encodedContent: true}` to include its content. Null if there is none.

        With `{threadUuid}`, a file of the owner of that thread, for callers who may see the thread.
        """
        return await _find(info.context, agent_uuid, arguments)

    @resolver_field(FileType | None)
    async def output_file(self, info: Info, agent_uuid: str, arguments: JSON) -> _File | None:
        """A file that an agent created for the caller: `{fileId}`. Null if there is none."""
        return await _find(info.context, agent_uuid, arguments)

    @resolver_field(PresignedAWSS3UrlType)
    async def presigned_aws_s3_url(
        self, info: Info, object_key: str, client_method: str | None = UNSET, expiration: int | None = UNSET
    ) -> _Signed:
        """A signed URL to write an object (`put_object`, the default `clientMethod`) or to read it (`get_object`).

        `objectKey` is a path in the caller's folder. The URL is valid for `expiration` seconds, by default 3,600.
        """
        call = info.context
        method, seconds = _METHODS.get(client_method or "put_object"), 3600 if expiration in (None, UNSET) else expiration
        if method is None:
            raise BadField(f"clientMethod is {client_method!r}, but must be put_object or get_object.")
        if not 1 <= seconds <= LONGEST:
            raise BadField(f"expiration is {seconds}, but must be 1 to {LONGEST:,} seconds.", details={"field": "expiration"})
        url = await call.resources.objects.presign(own_key(call.context, object_key), method=method, expires=seconds)  # type: ignore[arg-type]
        # Without a `url` in its settings, the host knows its own URL only from the request.
        return _Signed(urljoin(str(call.request.base_url), url), object_key, seconds)


@strawberry.type
class FileMutations:
    """Mutations of files."""

    @resolver_field(UploadFile)
    async def upload_file(self, info: Info, agent_uuid: str, arguments: JSON) -> SavePayload:
        """Upload a file for an agent: `{filename, encodedContent}` in base64, or `{filename, fileUri}`; with `mimeType` and `purpose`."""
        call = info.context
        await _agent(call, agent_uuid)
        return SavePayload(_shown(await store_file(call.resources, call.context, _arguments(arguments))))


def _arguments(value: Any) -> dict[str, Any]:
    found = stored_arguments({"arguments": value})["arguments"]
    if not isinstance(found, dict):
        raise BadField("arguments must be an object.")
    return found


async def _agent(call: Call, agent_uuid: str) -> None:
    """Raise `NotFoundInPartition` if the tenant does not have the agent."""
    if await call.loaders.find_active(Agent, agent_uuid) is None:
        raise NotFoundInPartition(f"There is no agent {agent_uuid!r}.")


async def _find(call: Call, agent_uuid: str, arguments: Any) -> _File | None:
    asked = _arguments(arguments)
    file_id = asked.get("file_id")
    if not isinstance(file_id, str):
        raise BadField("arguments must contain fileId.")
    await _agent(call, agent_uuid)
    try:
        owner = await _owner(call, asked.get("thread_uuid"))
        file = await find_file(call.resources.objects, call.context, file_id, owner)
    except NotFoundInPartition:
        return None
    wanted = asked.get("encoded_content")
    content = {"encoded_content": await read_file(call.resources.objects, call.context, file_id, owner)} if wanted else {}
    return _shown(file, content)


async def _owner(call: Call, thread_uuid: Any) -> str | None:
    """The owner of the requested file: the caller, or the owner of a thread. Raises `NotFoundInPartition`."""
    if thread_uuid is None:
        return None
    if not isinstance(thread_uuid, str):
        raise BadField("threadUuid must be text.", details={"field": "threadUuid"})
    return (await get_thread(call.store, call.context, thread_uuid)).owner_id


def _shown(file: StoredFile, content: dict[str, Any] | None = None) -> _File:
    return _File("id", file.file_id, file.described() | (content or {}))
