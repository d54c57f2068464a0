"""`S3Objects`: objects in a bucket."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from gateleg.model.types import check_object_key
from gateleg.objects.errors import StorageFailed
from gateleg.objects.links import WINDOW_SECONDS, validity
from gateleg.objects.protocol import DAY, PAGE, Objects, validate_limit
from gateleg.objects.s3.account import Bucket, BucketClient, etag_of, parse_info, presigned, presigned_form, translated_errors
from gateleg.objects.s3.transfers import MIB, S3Download, S3Upload, UploadTarget, copy_object
from gateleg.objects.values import Entry, ObjectPage, content_type_of, validate_metadata

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import timedelta

    from gateleg.net import Credentials
    from gateleg.objects.links import Grant, UploadForm, Validity
    from gateleg.objects.protocol import NewObject
    from gateleg.objects.values import ByteRange, ObjectInfo

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
