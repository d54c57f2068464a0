"""`S3Objects`: objects in a bucket of Amazon S3 or of a compatible service, and how content gets into and out of it.

Content that fits into a part, and copies of up to 5 GiB, take one request; all other content is sent or copied in parallel parts. Downloads
are resumed if the connection breaks. botocore is imported at the first request.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from gateleg.model.types import check_object_key
from gateleg.objects.errors import ObjectChanged, ObjectExists, ObjectMissing, ObjectsError, StorageFailed
from gateleg.objects.links import WINDOW_SECONDS, validity
from gateleg.objects.protocol import DAY, PAGE, Download, Objects, Upload, validate_limit
from gateleg.objects.s3_account import (
    SHA256,
    Bucket,
    BucketClient,
    date_of,
    etag_of,
    parse_info,
    presigned,
    presigned_form,
    translated_errors,
)
from gateleg.objects.values import CHUNK_SIZE, Entry, ObjectInfo, ObjectPage, content_type_of, validate_metadata

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from concurrent.futures import Executor, Future
    from datetime import timedelta

    from gateleg.net import Credentials
    from gateleg.objects.links import Grant, UploadForm, Validity
    from gateleg.objects.protocol import NewObject
    from gateleg.objects.values import ByteRange

#: S3 accepts parts of 5 MiB to 5 GiB, and at most 10,000 of them.
MIB = 1024 * 1024
PARTS = 10_000
_GROWS = 1000
#: The maximum number of attempts to resume a download without receiving a byte.
_ATTEMPTS = 4
#: The maximum size that CopyObject accepts: 5 GiB.
MAX_COPY_BYTES = 5 * 1024 * MIB
_PART = 512 * MIB
#: The maximum number of keys in a DeleteObjects request.
_AT_ONCE = 1000


class S3Objects(Objects):
    """An object store in a bucket of Amazon S3, or of a compatible `endpoint`.

    By default, botocore finds `credentials` and `region` as usual. `prefix` is added to all keys, invisibly to callers. Objects of more
    than `part_size` bytes are sent in parts, up to `parallel` at once, so an upload keeps about that many parts in memory. `settings` are
    further arguments of `botocore.config.Config`. `client` is a botocore client to use instead; URLs are then signed with `credentials`.

    The digest of an object is stored in its metadata, except for a stream of more than one part without `sha256`, whose digest is unknown.
    """

    def __init__(
        self,
        bucket: str,
        *,
        prefix: str = "",
        endpoint: str | None = None,
        region: str | None = None,
        credentials: Credentials | None = None,
        profile: str | None = None,
        part_size: int = 8 * MIB,
        parallel: int = 4,
        window: int = WINDOW_SECONDS,
        clock: Callable[[], float] = time.time,
        settings: Mapping[str, Any] | None = None,
        client: Any = None,
    ) -> None:
        if part_size < 5 * MIB:
            raise ValueError("part_size must be at least 5 MiB, the minimum of S3.")
        self.bucket = Bucket(bucket, endpoint, region)
        self.prefix = f"{check_object_key(prefix.rstrip('/'))}/" if prefix.strip("/") else ""
        self._account = BucketClient(self.bucket, credentials, profile, parallel, settings or {}, client)
        self._part_size = part_size
        self._parallel = parallel
        self._window = window
        self._clock = clock
        self._threads: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()

    @property
    def origin(self) -> str:
        """The origin (scheme, host and port) of the bucket's URLs."""
        # The address of a custom endpoint does not contain a region; otherwise it comes from the settings or botocore's configuration.
        region = self.bucket.region or ("" if self.bucket.endpoint is not None else self._account.region)
        return self.bucket.address(region).origin

    def stream(self, key: str, *, range: ByteRange | None = None, unless_etag: str | None = None) -> S3Download:
        return S3Download(self._account.client, self._place(key), key, range, unless_etag)

    def head(self, key: str) -> ObjectInfo:
        place = self._place(key)
        with translated_errors(key):
            response = self._account.client.head_object(**place)
        return parse_info(key, response, int(response["ContentLength"]))

    def list(self, prefix: str = "", *, delimiter: str | None = None, cursor: str | None = None, limit: int = PAGE) -> ObjectPage:
        parameters: dict[str, Any] = {"Bucket": self.bucket.name, "Prefix": self.prefix + prefix, "MaxKeys": validate_limit(limit)}
        if delimiter:
            parameters["Delimiter"] = delimiter
        if cursor is not None:
            parameters["ContinuationToken"] = cursor
        with translated_errors(prefix):
            response = self._account.client.list_objects_v2(**parameters)
        return ObjectPage(
            tuple(self._entry(content) for content in response.get("Contents", ())),
            tuple(shared["Prefix"].removeprefix(self.prefix) for shared in response.get("CommonPrefixes", ())),
            response.get("NextContinuationToken") if response.get("IsTruncated") else None,
        )

    def delete(self, key: str) -> None:
        place = self._place(key)
        with translated_errors(key):
            self._account.client.delete_object(**place)

    def delete_many(self, keys: Iterable[str]) -> None:
        places = [{"Key": self._place(key)["Key"]} for key in keys]
        for start in range(0, len(places), _AT_ONCE):
            with translated_errors(self.bucket.name):
                batch = {"Objects": places[start : start + _AT_ONCE], "Quiet": True}
                response = self._account.client.delete_objects(Bucket=self.bucket.name, Delete=batch)
            failed = [error for error in response.get("Errors", ()) if error.get("Code") != "NoSuchKey"]
            if failed:
                first = failed[0]
                raise StorageFailed(f"{len(failed)} objects were not deleted, such as {first.get('Key')!r}: {first.get('Message')}.")

    def copy(self, source: str, target: str, *, content_type: str | None = None, metadata: Mapping[str, str] | None = None) -> ObjectInfo:
        places = self._place(source), self._place(target)
        info = self.head(source)
        described = replace(
            info,
            key=target,
            content_type=info.content_type if content_type is None else content_type_of(target, content_type),
            metadata=info.metadata if metadata is None else validate_metadata(metadata),
        )
        copied = copy_object(self._account.client, *places, described, self._executor())
        # Some endpoints do not return the etag of a copy.
        return copied if copied.etag else self.head(target)

    def sweep(self, *, older_than: timedelta = DAY) -> int:
        """Abort multipart uploads that began more than `older_than` ago (by default a day). Returns their number."""
        horizon = datetime.fromtimestamp(self._clock(), UTC) - older_than
        swept = 0
        client = self._account.client
        with translated_errors(self.bucket.name):
            pages = client.get_paginator("list_multipart_uploads").paginate(Bucket=self.bucket.name, Prefix=self.prefix)
            for page in pages:
                for upload in page.get("Uploads", ()):
                    if upload["Initiated"] < horizon:
                        client.abort_multipart_upload(Bucket=self.bucket.name, Key=upload["Key"], UploadId=upload["UploadId"])
                        swept += 1
        return swept

    def close(self) -> None:
        with self._lock:
            threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown()
        self._account.close()

    def _upload(self, new: NewObject) -> S3Upload:
        place = self._place(new.key)
        with translated_errors(new.key):
            client = self._account.client
        return S3Upload(UploadTarget(client, place, self._executor(), self._parallel, self._part_size), new)

    def _needs_digest(self, size: int) -> bool:
        # Metadata is sent before the parts, so the digest must be known by then.
        return size > self._part_size

    def _presigned(self, grant: Grant, expires: float) -> str:
        key, valid, credentials, region = self._signing(grant, expires)
        return presigned(self.bucket.address(region), key, grant, valid, credentials, region)

    def _upload_form(self, grant: Grant, expires: float) -> UploadForm:
        # The policies of S3 have no condition for `once`: until the form expires, another upload replaces the object.
        key, valid, credentials, region = self._signing(grant, expires)
        return presigned_form(self.bucket, key, grant, valid, credentials, region)

    def _signing(self, grant: Grant, expires: float) -> tuple[str, Validity, Credentials, str]:
        valid = validity(self._clock(), expires, self._window)
        key = self._place(grant.key)["Key"]
        with translated_errors(grant.key):
            region = self._account.region
            return key, valid, self._account.credentials(), region

    def _place(self, key: str) -> dict[str, str]:
        return {"Bucket": self.bucket.name, "Key": check_object_key(self.prefix + check_object_key(key))}

    def _entry(self, content: Mapping[str, Any]) -> Entry:
        key = content["Key"].removeprefix(self.prefix)
        return Entry(key, int(content["Size"]), etag_of(content), content["LastModified"].astimezone(UTC))

    def _executor(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(self._parallel, thread_name_prefix="gateleg-s3")
            return self._threads


@dataclass(frozen=True)
class UploadTarget:
    """How an object is sent: its bucket and key, in parts of at least `smallest` bytes, `parallel` of them at once."""

    client: Any
    place: Mapping[str, str]
    executor: Executor
    parallel: int
    smallest: int


class S3Upload(Upload):
    """Sends parts concurrently with at most a few in memory, and removes them from the service if the upload fails."""

    def __init__(self, target: UploadTarget, new: NewObject) -> None:
        super().__init__(new)
        self._client = target.client
        self._place = target.place
        self._target = target
        self._condition = {"IfNoneMatch": "*"} if new.if_absent else {}
        self._rest = bytearray()
        self._id: str | None = None
        self._sent = 0
        self._under_way: deque[Future[dict[str, Any]]] = deque()
        self._parts: list[dict[str, Any]] = []

    def _write(self, chunk: bytes | memoryview) -> None:
        self._rest += chunk
        # The last part is sent by `finish`, which needs at least one byte.
        while len(self._rest) > (part_bytes := part_size(self.new.size, self._sent, self._target.smallest)):
            self._send(bytes(memoryview(self._rest)[:part_bytes]))
            del self._rest[:part_bytes]

    def _send(self, part: bytes) -> None:
        with translated_errors(self.key):
            if self._id is None:
                self._id = self._client.create_multipart_upload(**self._described(self.new.sha256))["UploadId"]
            while len(self._under_way) >= self._target.parallel:
                self._parts.append(self._under_way.popleft().result())
        self._sent += 1
        self._under_way.append(self._target.executor.submit(self._send_part, self._sent, part))

    def _send_part(self, number: int, part: bytes) -> dict[str, Any]:
        response = self._client.upload_part(**self._place, UploadId=self._id, PartNumber=number, Body=part)
        return {"PartNumber": number, "ETag": response["ETag"]}

    def _finish(self, digest: str) -> ObjectInfo:
        if self._id is None:
            with self._translated_upload_errors():
                response = self._client.put_object(**self._described(digest), **self._condition, Body=bytes(self._rest))
            return self._info(response, digest)
        self._send(bytes(self._rest))
        with self._translated_upload_errors():
            while self._under_way:
                self._parts.append(self._under_way.popleft().result())
            whole = {"UploadId": self._id, "MultipartUpload": {"Parts": self._parts}}
            response = self._client.complete_multipart_upload(**self._place, **self._condition, **whole)
        return self._info(response, digest)

    @contextmanager
    def _translated_upload_errors(self) -> Iterator[None]:
        """Translate errors of S3. A failed condition, or a concurrent writer, means that the object exists."""
        try:
            with translated_errors(self.key):
                if self.new.if_absent:
                    self._require_absent()
                yield
        except ObjectChanged as error:
            raise ObjectExists(f"The object {self.key!r} already exists.") from error

    def _require_absent(self) -> None:
        """Check for the object first, because some endpoints ignore or refuse the condition. A race remains for those."""
        with suppress(ObjectMissing), translated_errors(self.key):
            self._client.head_object(**self._place)
            raise ObjectChanged("The object exists.")

    def _abort(self) -> None:
        for part in self._under_way:
            part.cancel()
        for part in self._under_way:
            # A part that arrives after its upload was aborted would be stored, and billed, for ever.
            if not part.cancelled():
                part.exception()
        if self._id is not None:
            # The caller needs the original error; `sweep` removes what remains.
            with suppress(ObjectsError), translated_errors(self.key):
                self._client.abort_multipart_upload(**self._place, UploadId=self._id)

    def _described(self, digest: str | None) -> dict[str, Any]:
        metadata = dict(self.new.metadata) | ({SHA256: digest} if digest is not None else {})
        return {**self._place, "ContentType": self.new.content_type, "Metadata": metadata}

    def _info(self, response: Mapping[str, Any], digest: str) -> ObjectInfo:
        return ObjectInfo(self.key, self.size, etag_of(response), date_of(response), self.new.content_type, self.new.metadata, digest)


class S3Download(Download):
    """Reads the version of the object that it opened. If the object is replaced meanwhile, it may raise `ObjectChanged`."""

    def __init__(self, client: Any, place: Mapping[str, str], key: str, range: ByteRange | None, unless_etag: str | None) -> None:
        self._client = client
        self._place = place
        conditions = {
            **({"Range": range.header} if range is not None else {}),
            **({"IfNoneMatch": f'"{unless_etag}"'} if unless_etag is not None else {}),
        }
        with translated_errors(key):
            response = client.get_object(**place, **conditions)
        self._body: Any = response["Body"]
        self.start, self.stop, size = _extent(response)
        self.info = parse_info(key, response, size)

    def _chunks(self) -> Iterator[bytes]:
        offset = self.start
        left = _ATTEMPTS
        while offset < self.stop:
            try:
                chunk: bytes = self._body.read(min(CHUNK_SIZE, self.stop - offset))
            except Exception as error:
                chunk = b""
                if not _broken(error):
                    raise
            if chunk:
                offset += len(chunk)
                left = _ATTEMPTS
                yield chunk
            elif left:
                left -= 1
                self._resume(offset)
            else:
                raise StorageFailed(f"The connection was lost repeatedly while reading {self.info.key!r}.")

    def _resume(self, offset: int) -> None:
        self._body.close()
        with translated_errors(self.info.key):
            response = self._client.get_object(**self._place, Range=f"bytes={offset}-{self.stop - 1}", IfMatch=f'"{self.info.etag}"')
        self._body = response["Body"]

    def close(self) -> None:
        self._body.close()


def part_size(size: int | None, number: int, smallest: int) -> int:
    """The size of a part. If the size of the object is known, all parts are equal, which some endpoints require.

    Otherwise the size doubles every thousand parts, from 8 MiB, so that 10,000 parts reach the maximum size of an object.
    """
    if size is None:
        return smallest << (number // _GROWS)
    whole = -(-max(size, 1) // PARTS)
    return max(smallest, -(-whole // MIB) * MIB)


def _broken(error: Exception) -> bool:
    from botocore.exceptions import HTTPClientError, IncompleteReadError

    return isinstance(error, HTTPClientError | IncompleteReadError | OSError)


def _extent(response: Mapping[str, Any]) -> tuple[int, int, int]:
    """The offset of the first byte, the offset after the last one, and the size of the whole object."""
    length = int(response["ContentLength"])
    header = response.get("ContentRange")
    if not header:
        return 0, length, length
    places, _, size = header.removeprefix("bytes ").partition("/")
    first, _, last = places.partition("-")
    return int(first), int(last) + 1, int(size)


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
