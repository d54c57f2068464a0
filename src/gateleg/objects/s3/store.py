"""`S3Objects`: objects in a bucket."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from gateleg.model.attributes.special_types import check_object_key
from gateleg.objects.bodies import digest_of, size_of
from gateleg.objects.descriptions import content_type_of, validate_metadata
from gateleg.objects.errors import StorageFailed
from gateleg.objects.links import WINDOW_SECONDS, Grant, UploadForm, validity
from gateleg.objects.s3.account import Bucket, BucketClient
from gateleg.objects.s3.copies import copy_object
from gateleg.objects.s3.downloads import S3Download
from gateleg.objects.s3.error_translation import translated_errors
from gateleg.objects.s3.presigning import presigned, presigned_form
from gateleg.objects.s3.responses import etag_of, parse_info
from gateleg.objects.s3.uploads import MIB, S3Upload, UploadTarget
from gateleg.objects.values import Entry, ObjectPage
from gateleg.objects.verbs import Verbs, validate_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from gateleg.net import Credentials
    from gateleg.objects.protocol import Body
    from gateleg.objects.values import ByteRange, Method, ObjectInfo

_DAY = timedelta(days=1)
#: The maximum number of keys in a DeleteObjects request.
_AT_ONCE = 1000


class S3Objects(Verbs):
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

    def put(
        self,
        key: str,
        body: Body,
        *,
        content_type: str | None = None,
        metadata: Mapping[str, str] | None = None,
        sha256: str | None = None,
        if_absent: bool = False,
    ) -> ObjectInfo:
        """Store or replace an object atomically. See `Objects.put`."""
        check_object_key(key)
        if sha256 is None and (size_of(body) or 0) > self._part_size:
            # Metadata is sent before the parts, so the digest must be known by then.
            sha256 = digest_of(body)
        return super().put(key, body, content_type=content_type, metadata=metadata, sha256=sha256, if_absent=if_absent)

    def upload(
        self,
        key: str,
        *,
        content_type: str | None = None,
        metadata: Mapping[str, str] | None = None,
        sha256: str | None = None,
        size: int | None = None,
        if_absent: bool = False,
    ) -> S3Upload:
        """Start writing an object. See `Objects.upload`."""
        place = self._place(key)
        content_type = content_type_of(key, content_type)
        metadata = validate_metadata(metadata)
        with translated_errors(key):
            client = self._account.client
        target = UploadTarget(client, place, self._executor(), self._parallel, self._part_size, size)
        return S3Upload(target, key, content_type, metadata, sha256, if_absent=if_absent)

    def stream(self, key: str, *, range: ByteRange | None = None, unless_etag: str | None = None) -> S3Download:
        """Read the content, or a range of it, in chunks. See `Objects.stream`."""
        return S3Download(self._account.client, self._place(key), key, range, unless_etag)

    def head(self, key: str) -> ObjectInfo:
        """Read the description of an object. Raises `ObjectMissing`."""
        place = self._place(key)
        with translated_errors(key):
            response = self._account.client.head_object(**place)
        return parse_info(key, response, int(response["ContentLength"]))

    def list(self, prefix: str = "", *, delimiter: str | None = None, cursor: str | None = None, limit: int = 1000) -> ObjectPage:
        """List a page of the objects whose keys start with `prefix`. See `Objects.list`."""
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
        """Delete an object. A missing object is not an error."""
        place = self._place(key)
        with translated_errors(key):
            self._account.client.delete_object(**place)

    def delete_many(self, keys: Iterable[str]) -> None:
        """Delete any number of objects. See `Objects.delete_many`."""
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
        """Store a copy under another key. See `Objects.copy`."""
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

    def presign(
        self,
        key: str,
        *,
        method: Method = "GET",
        expires: float = 3600,
        content_type: str | None = None,
        length: int | None = None,
        download: str | None = None,
        sha256: str | None = None,
    ) -> str:
        """A URL that lets its holder read or write one object for a time. See `Objects.presign`.

        A URL that was signed with temporary credentials stops working when they expire. The content is compared with `sha256` when the URL
        is signed; a bucket cannot compare it again when the URL is used.
        """
        grant = Grant(key, method, content_type, length, download, sha256=sha256)
        if sha256 is not None:
            self.require_content(key, sha256)
        valid = validity(self._clock(), expires, self._window)
        place = self._place(key)
        with translated_errors(key):
            region = self._account.region
            credentials = self._account.credentials()
        return presigned(self.bucket.address(region), place["Key"], grant, valid, credentials, region)

    def presign_upload(
        self, key: str, *, max_bytes: int, expires: float = 3600, content_type: str | None = None, once: bool = False
    ) -> UploadForm:
        """A form that uploads an object of at most `max_bytes` bytes to the bucket. See `Objects.presign_upload`.

        The policies of S3 have no condition for `once`: until the form expires, another upload replaces the object.
        """
        grant = Grant(key, "PUT", content_type, max_bytes=max_bytes)
        valid = validity(self._clock(), expires, self._window)
        place = self._place(key)
        with translated_errors(key):
            region = self._account.region
            credentials = self._account.credentials()
        return presigned_form(self.bucket, place["Key"], grant, valid, credentials, region)

    def sweep(self, *, older_than: timedelta = _DAY) -> int:
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
        """Close connections and threads."""
        with self._lock:
            threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown()
        self._account.close()

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
