"""Resolves the files that a client attaches to a question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.apps.agents.errors import BadField
from gateleg.apps.agents.files import find_file, own_key, store_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.agents.graphql.calls import Call


async def read_input_files(call: Call, given: Sequence[Any]) -> list[dict[str, str]]:
    """The files in the caller's folder: by `fileId`, by `objectKey`, or with their content in `encodedContent`. Raises `BadField`."""
    return [await _read(call, one) for one in given]


async def _read(call: Call, given: Any) -> dict[str, str]:
    if not isinstance(given, dict):
        raise BadField("Each entry of inputFiles must be an object with fileId, objectKey or encodedContent.")
    if given.get("object_key"):
        key = own_key(call.context, str(given["object_key"]))
        info = await call.resources.objects.head(key)
        return {"object_key": key, "media_type": info.content_type, "name": str(given.get("name") or key.rpartition("/")[2])}
    if given.get("file_id"):
        file = await find_file(call.resources.objects, call.context, str(given["file_id"]))
    else:
        file = await store_file(call.resources, call.context, given)
    return {"object_key": file.key, "media_type": file.media_type, "name": file.filename}
