"""Presigned URLs of S3 with a chosen signing time: botocore signs for the current time, so all its URLs differ. No I/O."""

from __future__ import annotations

import hmac
import json
from base64 import b64encode
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gateleg.net.sigv4 import ALGORITHM, presign, scope_of, signing_key, stamp_of
from gateleg.objects.links import UploadForm, content_disposition

if TYPE_CHECKING:
    from gateleg.net import Address, Credentials
    from gateleg.objects.links import Grant, Validity
    from gateleg.objects.s3.account import Bucket


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
    made = hmac.new(signing_key(credentials.secret, scope), text, "sha256").hexdigest()
    return UploadForm(bucket.address(region).url, "POST", {**fields, "policy": text.decode(), "x-amz-signature": made})


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
