"""Everything of S3 that is not content: the botocore client of a bucket, its credentials, presigned URLs, errors and responses.

The client is created at first use: botocore and its S3 client take about half a second and 40 MB to load, which commands that use no bucket
should not pay. In return, botocore knows AWS's regions, redirects, retries and credentials, and is kept up to date. It signs URLs for the
current time, so all its URLs differ; here the signing time is chosen.
"""

from __future__ import annotations

import hmac
import json
import threading
from base64 import b64encode
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from gateleg.extras import install_hint
from gateleg.net import LOCAL_CREDENTIALS, Address, Credentials, amazon, is_throttled
from gateleg.net.aws import ALGORITHM, presign, scope_of, signing_key, stamp_of
from gateleg.objects.errors import (
    AccessRefused,
    BucketMissing,
    NotModified,
    ObjectChanged,
    ObjectMissing,
    ObjectsError,
    RangeOutside,
    StorageFailed,
    StorageFull,
    StorageThrottled,
)
from gateleg.objects.links import UploadForm, content_disposition
from gateleg.objects.values import RESERVED_PREFIX, ObjectInfo

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gateleg.objects.links import Grant, Validity


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket and its endpoint."""

    name: str
    endpoint: str | None = None
    region: str | None = None

    def address(self, region: str) -> Address:
        """The address of the bucket: virtual-hosted at Amazon; path-style at other endpoints and for names without a certificate."""
        if self.endpoint is None and "." not in self.name:
            whole = amazon(region, "s3")
            return Address(f"{self.name}.{whole.host}", whole.port, whole.secure, "/")
        whole = amazon(region, "s3") if self.endpoint is None else Address.parse(self.endpoint)
        return Address(whole.host, whole.port, whole.secure, f"{whole.path.rstrip('/')}/{self.name}/")


class BucketClient:
    """A botocore client for a bucket. Threads may share it."""

    def __init__(
        self,
        bucket: Bucket,
        credentials: Credentials | None,
        profile: str | None,
        parallel: int,
        settings: Mapping[str, Any],
        client: Any = None,
    ) -> None:
        self.bucket = bucket
        self._credentials = credentials
        self._profile = profile
        self._parallel = parallel
        self._settings = settings
        self._lock = threading.Lock()
        self._client = client
        self._session: Any = None

    @property
    def client(self) -> Any:
        """The client, created at first use."""
        if self._client is None:
            with self._lock:
                if self._client is None:
                    self._client = self._make()
        return self._client

    @property
    def region(self) -> str:
        """The region that requests are signed for."""
        region: str = self.client.meta.region_name or "us-east-1"
        return region if region != "aws-global" else "us-east-1"

    def credentials(self) -> Credentials:
        """The current credentials."""
        _ = self.client
        if self._credentials is not None:
            return self._credentials
        if self._session is None:
            raise AccessRefused(
                "Cannot sign URLs.", why="S3Objects has a client, but no credentials.", fix="Pass credentials together with the client."
            )
        frozen = self._session.get_credentials().get_frozen_credentials()
        return Credentials(frozen.access_key, frozen.secret_key, frozen.token or None)

    def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            self._client.close()

    def _make(self) -> Any:
        try:
            import botocore.session
            from botocore.config import Config
        except ImportError as error:
            raise StorageFailed("botocore is not installed.", fix=install_hint("aws")) from error
        self._session = botocore.session.Session(profile=self._profile)
        if self._credentials is None and self._session.get_credentials() is None:
            if self.bucket.endpoint is None:
                raise AccessRefused("No AWS credentials were passed, and botocore found none.")
            # A custom endpoint without configured credentials is assumed not to check them.
            self._credentials = LOCAL_CREDENTIALS
        custom = self.bucket.endpoint is not None
        # Only Amazon is certain to support the checksums that botocore adds by default.
        checksums = "when_required" if custom else "when_supported"
        settings: dict[str, Any] = {
            "retries": {"mode": "standard", "total_max_attempts": 6},
            "s3": {"addressing_style": "path" if custom else "auto"},
            "request_checksum_calculation": checksums,
            "response_checksum_validation": checksums,
            "max_pool_connections": self._parallel + 16,
            "connect_timeout": 5,
            "read_timeout": 30,
        }
        credentials = self._credentials
        keys = {
            "aws_access_key_id": credentials and credentials.key_id,
            "aws_secret_access_key": credentials and credentials.secret,
            "aws_session_token": credentials and credentials.token,
        }
        return self._session.create_client(
            "s3",
            region_name=self.bucket.region or (None if not custom else self._session.get_config_variable("region") or "us-east-1"),
            endpoint_url=self.bucket.endpoint,
            config=Config(**{**settings, **self._settings}),
            **keys,
        )


def presigned_form(bucket: Bucket, key: str, grant: Grant, validity: Validity, credentials: Credentials, region: str) -> UploadForm:
    """A form that uploads an object of limited size. S3 checks the upload against the policy that is signed here."""
    stamp = stamp_of(validity.begins)
    scope = scope_of(stamp, region, "s3")
    fields = {
        "key": key,
        **({"Content-Type": grant.content_type} if grant.content_type is not None else {}),
        "x-amz-algorithm": ALGORITHM,
        "x-amz-credential": f"{credentials.key_id}/{scope}",
        "x-amz-date": stamp,
        **({"x-amz-security-token": credentials.token} if credentials.token is not None else {}),
    }
    policy = {
        "expiration": datetime.fromtimestamp(validity.ends, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "conditions": [
            {"bucket": bucket.name},
            *({name: value} for name, value in fields.items()),
            ["content-length-range", 0, grant.max_bytes],
        ],
    }
    text = b64encode(json.dumps(policy, separators=(",", ":")).encode())
    signature = hmac.new(signing_key(credentials.secret, scope), text, "sha256").hexdigest()
    return UploadForm(bucket.address(region).url, "POST", {**fields, "policy": text.decode(), "x-amz-signature": signature})


def presigned(address: Address, key: str, grant: Grant, validity: Validity, credentials: Credentials, region: str) -> str:
    """The presigned URL of an object for a grant and its validity."""
    headers = {"content-type": grant.content_type, "content-length": None if grant.length is None else str(grant.length)}
    return presign(
        grant.method,
        address,
        key,
        credentials=credentials,
        region=region,
        begins=validity.begins,
        seconds=validity.ends - validity.begins,
        headers={name: value for name, value in headers.items() if value is not None},
        query={"response-content-disposition": content_disposition(grant.download)} if grant.download is not None else {},
    )


_KINDS: dict[str, type[ObjectsError]] = {
    "NoSuchBucket": BucketMissing,
    "NoSuchKey": ObjectMissing,
    "NotFound": ObjectMissing,
    "NotModified": NotModified,
    "PreconditionFailed": ObjectChanged,
    "ConditionalRequestConflict": ObjectChanged,
    "QuotaExceeded": StorageFull,
    "InsufficientStorage": StorageFull,
    "XMinioStorageFull": StorageFull,
}
_STATUSES: dict[int, type[ObjectsError]] = {
    304: NotModified,
    401: AccessRefused,
    403: AccessRefused,
    404: ObjectMissing,
    412: ObjectChanged,
    507: StorageFull,
}


@contextmanager
def translated_errors(key: str) -> Iterator[None]:
    """Translate errors of S3 raised in the block."""
    try:
        yield
    except ObjectsError:
        raise
    except Exception as error:
        known = explained(error, key)
        if known is None:
            raise
        raise known from error


def explained(error: Exception, key: str) -> ObjectsError | None:
    """The error of object stores for an error of botocore. None for other exceptions."""
    from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError, NoCredentialsError

    if isinstance(error, ClientError):
        return _refused(error.response, key)
    if isinstance(error, NoCredentialsError):
        return AccessRefused(f"{str(error).rstrip('.')}.")
    if isinstance(error, BotoCoreError | HTTPClientError):
        return StorageFailed(f"{key!r}: {str(error).rstrip('.')}.")
    return None


def _refused(response: dict[str, Any], key: str) -> ObjectsError:
    details = response.get("Error", {})
    code = str(details.get("Code", ""))
    status = int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    if code == "InvalidRange" or status == 416:
        return RangeOutside(f"The range is outside the object {key!r}.")
    kind = StorageThrottled if is_throttled(code, status) else _KINDS.get(code) or _STATUSES.get(status, StorageFailed)
    if kind is ObjectMissing:
        return kind(f"The object {key!r} does not exist.")
    if kind is NotModified:
        return kind(f"{key!r} is not modified.")
    return kind(f"{key!r}: {str(details.get('Message') or code or status).rstrip('.')}.")


#: The name of the digest in the object's metadata, the only place that every endpoint preserves.
SHA256 = f"{RESERVED_PREFIX}sha256"


def parse_info(key: str, response: Mapping[str, Any], size: int) -> ObjectInfo:
    """The description of the object in a HEAD or GET response."""
    metadata = {name.lower(): value for name, value in response.get("Metadata", {}).items()}
    digest = metadata.pop(SHA256, None)
    return ObjectInfo(
        key,
        size,
        etag_of(response),
        response["LastModified"].astimezone(UTC),
        response.get("ContentType") or "application/octet-stream",
        metadata,
        digest,
    )


def etag_of(response: Mapping[str, Any]) -> str:
    """The etag without quotes."""
    return str(response.get("ETag", "")).strip('"')


def date_of(response: Mapping[str, Any]) -> datetime:
    """The `Date` of a response, which is the time when the acknowledged object was written."""
    header = response.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
    return parsedate_to_datetime(header).astimezone(UTC) if header else datetime.now(UTC)
