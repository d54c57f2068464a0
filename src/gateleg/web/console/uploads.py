"""`UploadField` sends files to the application's uploads, in parts and with progress; `FileForm` sends them to any route in one request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nicegui.element import Element

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["UPLOAD_MODULE", "FileForm", "UploadField"]

#: The JavaScript module for uploads, for components of applications: `esm=UPLOAD_MODULE`.
UPLOAD_MODULE = {"gateleg-uploads": f"{__file__.removesuffix('uploads.py')}static/uploads"}
#: Bytes of a part. If the connection breaks, only the last part is sent again.
_PART = 8 * 1024 * 1024


class UploadField(Element, component="static/upload_field.js", esm=UPLOAD_MODULE):
    """Uploads files of a kind: `UploadField("/api/shop/uploads/photo", max_bytes=..., on_uploaded=...)`.

    `on_uploaded` gets the status of each finished upload: `upload_id`, `name`, `key`, `content_type`. `details` are sent along.
    """

    def __init__(
        self,
        address: str,
        *,
        max_bytes: int,
        accept: str = "",
        words: str = "or drop them here",
        multiple: bool = True,
        details: Mapping[str, str] | None = None,
        on_uploaded: Callable[[dict[str, Any]], Any] | None = None,
        part: int = _PART,
    ) -> None:
        super().__init__()
        self.props.update(
            {
                "address": address,
                "maxBytes": max_bytes,
                "accept": accept,
                "words": words,
                "multiple": multiple,
                "details": dict(details or {}),
            }
        )
        self.props["size"] = part
        if on_uploaded is not None:
            self.on("uploaded", lambda event: on_uploaded(event.args))


class FileForm(Element, component="static/file_form.js", esm=UPLOAD_MODULE):
    """Sends files to a route in one request: `FileForm("/api/shop/orders/7/photo", accept="image/*", max_bytes=...)`.

    The page reloads afterwards; an error of the route is shown below the field.
    """

    def __init__(
        self, address: str, *, max_bytes: int, method: str = "PUT", accept: str = "", words: str = "or drop it here", multiple: bool = False
    ) -> None:
        super().__init__()
        self.props.update(
            {"address": address, "method": method, "accept": accept, "words": words, "maxBytes": max_bytes, "multiple": multiple}
        )
