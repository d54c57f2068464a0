"""The botocore client of a bucket and its credentials, created at first use.

botocore and its S3 client take about half a second and 40 MB to load, which commands that use no bucket should not pay. In return, botocore
knows AWS's regions, redirects, retries and credentials, and is kept up to date.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.extras import install_hint
from gateleg.net import LOCAL_CREDENTIALS, Address, Credentials, amazon
from gateleg.objects.errors import AccessRefused, StorageFailed

if TYPE_CHECKING:
    from collections.abc import Mapping


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
        self._given = credentials
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
        if self._given is not None:
            return self._given
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
        if self._given is None and self._session.get_credentials() is None:
            if self.bucket.endpoint is None:
                raise AccessRefused("No AWS credentials were passed, and botocore found none.")
            # A custom endpoint without configured credentials is assumed not to check them.
            self._given = LOCAL_CREDENTIALS
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
        credentials = self._given
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
