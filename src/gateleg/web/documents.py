"""Documentation of the HTTP APIs: OpenAPI for programs, and a page for people with a form for each operation. It needs no other host.

The error envelope, for the documentation of the API.
"""

from __future__ import annotations

import asyncio
import html
import json
import re
import threading
from importlib import resources
from string import Template
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel, Field

from gateleg.host.principal import Role
from gateleg.web.access import only
from gateleg.web.headers import REFERENCE_POLICY
from gateleg.web.schema_examples import call_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_VERBS = ("get", "post", "put", "patch", "delete")
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
    """`/api/openapi.json`, and `/api/docs` with its script."""
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
        text = await asyncio.to_thread(built, request.app, _page_text)
        return HTMLResponse(text, headers={"Content-Security-Policy": REFERENCE_POLICY})

    @router.get("/api/docs.js")
    async def script() -> Response:
        return Response(_packaged("reference.js"), media_type="text/javascript", headers={"Cache-Control": "no-cache"})

    return router


def _document_text(app: FastAPI) -> str:
    return json.dumps(openapi(app), ensure_ascii=False, separators=(",", ":"))


def _page_text(app: FastAPI) -> str:
    return reference_page(openapi(app))


def _packaged(name: str) -> str:
    return resources.files("gateleg.web").joinpath(name).read_text(encoding="utf-8")


def reference_page(document: dict[str, Any]) -> str:
    """An OpenAPI document as one page."""
    groups: dict[str, list[str]] = {}
    for path, verbs in document["paths"].items():
        for verb in _VERBS:
            if verb in verbs:
                operation = verbs[verb]
                groups.setdefault((operation.get("tags") or ["Others"])[0], []).append(_operation(path, verb, operation, document))
    contents = "".join(f'<a href="#{_anchor(name)}">{html.escape(name)}</a>' for name in groups)
    body = "".join(
        f'<section id="{_anchor(name)}"><h2>{html.escape(name)}</h2>{"".join(parts)}</section>' for name, parts in groups.items()
    )
    template = Template(_packaged("reference.html"))
    return template.substitute(title=html.escape(document["info"]["title"]), about=_words(_ABOUT), contents=contents, body=body)


def _words(text: str) -> str:
    """Text with `code` in it as HTML."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


def _anchor(name: str) -> str:
    return "".join(character if character.isalnum() else "-" for character in name.lower())


def _operation(path: str, verb: str, operation: dict[str, Any], document: dict[str, Any]) -> str:
    rows = "".join(_parameter(parameter) for parameter in operation.get("parameters", ()))
    table = f"<table><thead><tr><th>parameter<th>in<th>type<th></thead><tbody>{rows}</tbody></table>" if rows else ""
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    answers = "".join(_answers(operation, document))
    call = html.escape(json.dumps(call_of(path, verb, operation, document), ensure_ascii=False, separators=(",", ":")))
    about = _words(operation.get("description") or operation.get("summary") or "")
    return (
        f'<details class="operation"><summary><b class="{verb}">{verb.upper()}</b> <code>{html.escape(path)}</code>'
        f"<span>{about.split('. ')[0].rstrip('.')}</span></summary><p>{about}</p>{table}"
        f'<details class="try" data-call="{call}" hidden><summary>Try it</summary></details>'
        f"{_schema('Body schema', body, document) if body else ''}{answers}</details>"
    )


def _parameter(parameter: dict[str, Any]) -> str:
    kind = _type(parameter.get("schema", {}))
    need = " <em>required</em>" if parameter.get("required") else ""
    name, place = html.escape(parameter["name"]), html.escape(parameter["in"])
    return f"<tr><td><code>{name}</code>{need}<td>{place}<td>{kind}<td>{_words(parameter.get('description', ''))}</tr>"


def _answers(operation: dict[str, Any], document: dict[str, Any]) -> Iterator[str]:
    for status, response in operation.get("responses", {}).items():
        if status.startswith("2"):
            schema = response.get("content", {}).get("application/json", {}).get("schema")
            yield _schema(f"Response {status}", schema, document) if schema else f"<p>Response {status}, without a body</p>"


def _type(schema: dict[str, Any]) -> str:
    kinds = [part.get("type") or part.get("$ref", "").rpartition("/")[2] for part in schema.get("anyOf", [schema])]
    return html.escape(" or ".join(str(kind) for kind in kinds if kind and kind != "null"))


def _schema(title: str, schema: dict[str, Any], document: dict[str, Any]) -> str:
    """A schema with those that it refers to, each once."""
    shown = json.dumps(_resolved(schema, document, ()), indent=2, ensure_ascii=False)
    return f"<details><summary>{title}</summary><pre>{html.escape(shown)}</pre></details>"


def _resolved(schema: Any, document: dict[str, Any], seen: tuple[str, ...]) -> Any:
    if isinstance(schema, list):
        return [_resolved(part, document, seen) for part in schema]
    if not isinstance(schema, dict):
        return schema
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    if not name:
        return {key: _resolved(part, document, seen) for key, part in schema.items()}
    if name in seen:
        return {"same as": name}
    return _resolved(document["components"]["schemas"][name], document, (*seen, name))


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
