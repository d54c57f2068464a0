"""Presigned URLs of S3, for a moment of our own choosing: botocore can sign only for now, and each URL would differ from the last. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.net.sigv4 import presign
from gateleg.objects.links import content_disposition

if TYPE_CHECKING:
    from gateleg.net import Address, Credentials
    from gateleg.objects.links import Grant, Validity


def presigned(address: Address, key: str, grant: Grant, validity: Validity, credentials: Credentials, region: str) -> str:
    """The URL of an object at a bucket's address: what a grant allows, for as long as it is valid."""
    given = {"content-type": grant.content_type, "content-length": None if grant.length is None else str(grant.length)}
    return presign(
        grant.method,
        address,
        key,
        credentials=credentials,
        region=region,
        begins=validity.begins,
        seconds=validity.ends - validity.begins,
        headers={name: value for name, value in given.items() if value is not None},
        query={"response-content-disposition": content_disposition(grant.download)} if grant.download is not None else {},
    )
