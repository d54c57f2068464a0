"""Server-side copies within a bucket: one request for objects of up to 5 GiB, parts for larger ones."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gateleg.objects.errors import ObjectsError
from gateleg.objects.s3.error_translation import translated_errors
from gateleg.objects.s3.responses import SHA256, date_of, etag_of
from gateleg.objects.s3.uploads import MIB, part_size
from gateleg.objects.values import ObjectInfo

if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent.futures import Executor

#: The maximum size that CopyObject accepts: 5 GiB.
MAX_COPY_BYTES = 5 * 1024 * MIB
_PART = 512 * MIB


def copy_object(
    client: Any,
    source: Mapping[str, str],
    target: Mapping[str, str],
    info: ObjectInfo,
    executor: Executor,
    max_copy_bytes: int = MAX_COPY_BYTES,
    smallest: int = _PART,
) -> ObjectInfo:
    """Copy the object at `source`, which has the etag and size of `info`, to `target`, with the description of `info`."""
    metadata = dict(info.metadata) | ({SHA256: info.sha256} if info.sha256 is not None else {})
    described = {**target, "ContentType": info.content_type, "Metadata": metadata}
    origin = {"CopySource": dict(source), "CopySourceIfMatch": f'"{info.etag}"'}
    with translated_errors(info.key):
        if info.size <= max_copy_bytes:
            response = client.copy_object(**described, **origin, MetadataDirective="REPLACE")
            etag = etag_of(response["CopyObjectResult"])
        else:
            response = _copy_in_parts(client, target, described, origin, executor, info.size, smallest)
            etag = etag_of(response)
    return ObjectInfo(info.key, info.size, etag, date_of(response), info.content_type, info.metadata, info.sha256)


def _copy_in_parts(
    client: Any,
    target: Mapping[str, str],
    described: Mapping[str, Any],
    origin: Mapping[str, Any],
    executor: Executor,
    size: int,
    smallest: int,
) -> dict[str, Any]:
    upload = client.create_multipart_upload(**described)["UploadId"]
    width = part_size(size, 0, smallest)

    def copy(number: int) -> dict[str, Any]:
        start = (number - 1) * width
        span = f"bytes={start}-{min(size, start + width) - 1}"
        response = client.upload_part_copy(**target, **origin, UploadId=upload, PartNumber=number, CopySourceRange=span)
        return {"PartNumber": number, "ETag": response["CopyPartResult"]["ETag"]}

    try:
        parts = list(executor.map(copy, range(1, -(-size // width) + 1)))
        response: dict[str, Any] = client.complete_multipart_upload(**target, UploadId=upload, MultipartUpload={"Parts": parts})
    except BaseException:
        with suppress(ObjectsError), translated_errors(target["Key"]):
            client.abort_multipart_upload(**target, UploadId=upload)
        raise
    return response
