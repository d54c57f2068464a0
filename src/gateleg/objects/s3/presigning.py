"""Presigned URLs of S3, for a moment of our own choosing: botocore can sign only for now, and each URL would differ from the last. Pure."""

from __future__ import annotations

import hashlib
import hmac
import time
from typing import TYPE_CHECKING
from urllib.parse import quote

from gateleg.objects.links import content_disposition

if TYPE_CHECKING:
    from gateleg.objects.links import Grant, Validity
    from gateleg.store.transports.addresses import Address
    from gateleg.store.transports.credentials import Credentials


def presigned(address: Address, key: str, grant: Grant, validity: Validity, credentials: Credentials, region: str) -> str:
    """The URL of an object at a bucket's address, signed as AWS Signature Version 4 has it in query strings."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(validity.begins))
    scope = f"{stamp[:8]}/{region}/s3/aws4_request"
    headers = {"host": address.authority}
    if grant.content_type is not None:
        headers["content-type"] = grant.content_type
    if grant.length is not None:
        headers["content-length"] = str(grant.length)
    signed = ";".join(sorted(headers))
    query = {
        "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
        "X-Amz-Credential": f"{credentials.key_id}/{scope}",
        "X-Amz-Date": stamp,
        "X-Amz-Expires": str(validity.ends - validity.begins),
        "X-Amz-SignedHeaders": signed,
    }
    if credentials.token is not None:
        query["X-Amz-Security-Token"] = credentials.token
    if grant.download is not None:
        query["response-content-disposition"] = content_disposition(grant.download)
    encoded = "&".join(f"{_quoted(name)}={_quoted(value)}" for name, value in sorted(query.items()))
    path = address.path + quote(key, safe="/-_.~")
    lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    request = f"{grant.method}\n{path}\n{encoded}\n{lines}\n{signed}\nUNSIGNED-PAYLOAD"
    text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    signature = hmac.new(_signing_key(credentials.secret, scope), text.encode(), "sha256").hexdigest()
    scheme = "https" if address.secure else "http"
    return f"{scheme}://{address.authority}{path}?{encoded}&X-Amz-Signature={signature}"


def _signing_key(secret: str, scope: str) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


def _quoted(text: str) -> str:
    return quote(text, safe="-_.~")
