"""Every route that answers with a list answers page by page: the kit's, and those of the installed applications."""

from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from gateleg.cli.installed import own_applications
from gateleg.host.host import settings_only_resources
from gateleg.host.settings import Settings
from gateleg.web import health, object_routes, sse
from gateleg.web.api import ROUTERS, webhooks
from gateleg.web.member_jobs import member_job_routes

#: Pairs of query parameters that page: the most results, and where to begin. RAG has the names of the system that it replaces.
PAGING = ({"limit", "cursor"}, {"limit", "after"}, {"pageSize", "lastEvaluatedKey"})
#: Lists that are short by nature, with the reason.
UNPAGED = {
    "/api/agents/tenants": "has a cursor; how many agents it reads at a time is fixed",
    "/api/delphi/runs/{job_id}": "the stages of one pipeline",
    "/api/delphi/runs/{job_id}/artifacts": "the files of one report: one for each format",
    "/api/mv/board": "one entry for each status of a project",
    "/api/mv/director-configs": "declared in code",
    "/api/mv/providers": "named in the settings",
    "/api/rag/repository/{repository_id}/similaritySearch": "the best matches: `topK` of them",
}


def document() -> dict[str, Any]:
    """The OpenAPI document of a host with all applications of Gateleg, none of which is opened."""
    app = FastAPI()
    for router in (health.router, *ROUTERS, webhooks.router, sse.router, object_routes.router):
        app.include_router(router)
    for application in own_applications().values():
        app.include_router(member_job_routes(application))
        if application.routes is not None:
            app.include_router(application.routes(settings_only_resources(application, Settings())), prefix=f"/api/{application.name}")
    return get_openapi(title="all", version="0", routes=app.routes)


def list_routes(document: dict[str, Any]) -> dict[str, set[str]]:
    """The paths that answer a GET with a list of records, with the names of their query parameters."""
    found: dict[str, set[str]] = {}
    for path, operations in document["paths"].items():
        for media in operations.get("get", {}).get("responses", {}).get("200", {}).get("content", {}).values():
            if _is_list(document, path, media.get("schema", {})):
                found[path] = {one["name"] for one in operations["get"].get("parameters", ()) if one["in"] == "query"}
    return found


def _is_list(document: dict[str, Any], path: str, schema: dict[str, Any]) -> bool:
    """Whether an answer is an array, has `items`, or is an object around one array of records, if it is not that of a single thing."""
    schema = _resolved(document, schema)
    properties = schema.get("properties", {})
    if schema.get("type") == "array" or "items" in properties:
        return True
    arrays = [name for name, own in properties.items() if _holds_records(document, own)]
    is_single = path.endswith(("}", "/tree"))
    return len(arrays) == 1 and not is_single


def _holds_records(document: dict[str, Any], schema: dict[str, Any]) -> bool:
    return schema.get("type") == "array" and "properties" in _resolved(document, schema.get("items", {}))


def _resolved(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


@pytest.fixture(scope="module")
def routes() -> dict[str, set[str]]:
    return list_routes(document())


def test_every_list_is_paged(routes: dict[str, set[str]]) -> None:
    whole = {path for path, names in routes.items() if not any(pair <= names for pair in PAGING)}
    assert whole == set(UNPAGED)


def test_lists_of_every_kind_are_found(routes: dict[str, set[str]]) -> None:
    arrays, wrapped = {"/api/mv/providers"}, {"/api/jobs", "/api/tables", "/api/objects", "/api/jobs/{job_id}/logs", "/api/models/usage"}
    assert arrays | wrapped | {"/api/secrets/{application}", "/api/rag/jobs/{job_id}/artifacts"} <= routes.keys()
    assert "/api/jobs/{job_id}" not in routes


def test_a_list_without_pages_is_noticed() -> None:
    app = FastAPI()

    @app.get("/names")
    def names(limit: int) -> list[str]:
        return []

    assert list_routes(get_openapi(title="t", version="0", routes=app.routes)) == {"/names": {"limit"}}
