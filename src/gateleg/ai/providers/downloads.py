"""Downloads outputs of models. Keys are sent only to the provider's own origin, even if it redirects elsewhere."""

from __future__ import annotations

import mimetypes
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from gateleg.ai.addresses import origin
from gateleg.ai.errors import InvalidModelResponse, ModelUnreachable
from gateleg.ai.messages import Attachment
from gateleg.ai.providers.error_responses import parse_error_response
from gateleg.ai.providers.remote import read_body
from gateleg.net.http import HttpRequest

if TYPE_CHECKING:
    from gateleg.ai.media import MediaOutput
    from gateleg.ai.providers.remote import Endpoint
    from gateleg.ai.retry_policy import CallDeadline
    from gateleg.ai.steps import Flow, Opened

_REDIRECTS = 5


def download(output: MediaOutput, endpoint: Endpoint, headers: dict[str, str], deadline: CallDeadline) -> Flow[Attachment]:
    """The content of an output. `headers` authenticate, and are sent to the endpoint only."""
    if output.data is not None:
        return Attachment(output.media_type, output.data)
    url = output.url or ""
    for _ in range(_REDIRECTS):
        _check(url)
        own = headers if origin(url) == origin(endpoint.url) else {}
        opened: Opened = yield deadline.opening(HttpRequest(url, headers={"user-agent": "gateleg"} | own, method="GET"))
        try:
            data = yield from read_body(opened, deadline)
        finally:
            opened.close()
        if opened.status in (301, 302, 303, 307, 308) and opened.headers.get("location"):
            url = urljoin(url, opened.headers["location"])
            continue
        if opened.status != 200:
            raise parse_error_response(opened.status, opened.headers, data, endpoint.key)
        kind = opened.headers.get("content-type", "").partition(";")[0].strip()
        return Attachment(kind if "/" in kind and kind != "application/octet-stream" else output.media_type, data)
    raise ModelUnreachable("The download was redirected too often.")


def guessed_type(url: str) -> str:
    """The media type of a file by its extension."""
    return mimetypes.guess_type(urlsplit(url).path)[0] or "application/octet-stream"


def _check(url: str) -> None:
    if urlsplit(url).scheme not in ("http", "https"):
        raise InvalidModelResponse("The service returned a URL that is not HTTP.")
