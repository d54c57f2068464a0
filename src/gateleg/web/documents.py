"""Documentation of the HTTP APIs: OpenAPI for programs, and Swagger UI for people, which calls the host. It needs no other host.

The error envelope, for the documentation of the API.
"""

from __future__ import annotations

import asyncio
import html
import json
import threading
from importlib import resources
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.responses import FileResponse, HTMLResponse, Response
from pydantic import BaseModel, Field

from gateleg.extras import MissingPackage
from gateleg.host.errors import Unknown
from gateleg.host.principal import Role
from gateleg.web.access import only
from gateleg.web.headers import API_DOCS_POLICY

if TYPE_CHECKING:
    from collections.abc import Callable


#: The files of Swagger UI, and their types.
_VIEWER_FILES = {"swagger-ui.css": "text/css", "swagger-ui-bundle.js": "text/javascript"}
_ABOUT = (
    'The HTTP APIs of this host. Errors all have one form, `{"error": {"code", "message", "details"}}`. '
    "Lists are paged: pass `next` as `cursor` to get the next page."
)


def openapi(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document of everything that the host serves to programs."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, description=_ABOUT, routes=app.routes)
        schemes = made.setdefault("components", {}).setdefault("securitySchemes", {})
        schemes["key"] = {"type": "http", "scheme": "bearer", "description": "An API key, as printed by `gateleg keys create`."}
        made["security"] = [{"key": []}]
        _describe_failures(made)
        app.openapi_schema = made
    return app.openapi_schema


def _describe_failures(document: dict[str, Any]) -> None:
    """Document the error envelope for every operation: the framework's own error format is never used."""
    schemas = document["components"].setdefault("schemas", {})
    envelope = ErrorEnvelope.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= envelope.pop("$defs") | {"ErrorEnvelope": envelope}
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorEnvelope"}}}
    for verbs in document["paths"].values():
        for operation in verbs.values():
            for status, about in FAILURES.items():
                operation["responses"][str(status)] = {"description": about, "content": content}


def document_routes() -> APIRouter:
    """`/api/openapi.json`, and `/api/docs` with its scripts and styles."""
    router = APIRouter(include_in_schema=False, dependencies=[only(Role.VIEWER)])
    building = threading.Lock()
    texts: dict[Callable[[FastAPI], str], str] = {}

    def built(app: FastAPI, build: Callable[[FastAPI], str]) -> str:
        # Routes do not change while a host runs. Call this in a thread, because building takes half a second.
        with building:
            if build not in texts:
                texts[build] = build(app)
            return texts[build]

    @router.get("/api/openapi.json")
    async def document(request: Request) -> Response:
        return Response(await asyncio.to_thread(built, request.app, _document_text), media_type="application/json")

    @router.get("/api/docs")
    async def page(request: Request) -> Response:
        template = Template(_packaged("api_docs.html"))
        text = template.substitute(title=html.escape(request.app.title), version=version("fastapi-offline"))
        return HTMLResponse(text, headers={"Content-Security-Policy": API_DOCS_POLICY})

    @router.get("/api/docs.js")
    async def script() -> Response:
        return Response(_packaged("api_docs.js"), media_type="text/javascript", headers={"Cache-Control": "no-cache"})

    @router.get("/api/docs/page.css")
    async def style() -> Response:
        return Response(_packaged("api_docs.css"), media_type="text/css", headers={"Cache-Control": "no-cache"})

    @router.get("/api/docs/{name}")
    async def viewer(name: str) -> Response:
        """A file of Swagger UI, from the package that brings it."""
        if name not in _VIEWER_FILES:
            raise Unknown(f"The API documentation has no file {name!r}.", fix="Open /api/docs.")
        # The page's links name the version, so that browsers may keep a file.
        return FileResponse(viewer_folder() / name, media_type=_VIEWER_FILES[name], headers={"Cache-Control": "private, max-age=31536000"})

    return router


def viewer_folder() -> Path:
    """The folder of the package that brings Swagger UI."""
    # Found without being imported: the package would load its own application.
    spec = find_spec("fastapi_offline")
    if spec is None or spec.origin is None:
        raise MissingPackage("fastapi_offline", "web")
    return Path(spec.origin).parent / "static"


def _document_text(app: FastAPI) -> str:
    return json.dumps(openapi(app), ensure_ascii=False, separators=(",", ":"))


def _packaged(name: str) -> str:
    return resources.files("gateleg.web").joinpath(name).read_text(encoding="utf-8")


class ErrorBody(BaseModel):
    """What went wrong."""

    code: str = Field(description="A stable code for programs.")
    message: str = Field(description="What happened, in words.")
    details: dict[str, Any] = Field(description="Further details; `fix` says what to do.")


class ErrorEnvelope(BaseModel):
    """The form of every error."""

    error: ErrorBody


#: The errors that every route may respond with.
FAILURES = {
    400: "The request is malformed.",
    401: "The request is not authenticated, or the key is no longer valid.",
    403: "The caller may not do this.",
    404: "It does not exist, or the caller may not see it.",
    409: "It conflicts with what is stored now.",
    413: "It is too large.",
    422: "The request is not valid.",
    429: "The key has reached its rate limit.",
    503: "The store cannot be used right now.",
}
