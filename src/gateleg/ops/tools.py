"""Access patterns of declared tables as read-only tools for language models.

A Model Context Protocol (MCP) server that lists the tools and calls them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema

from gateleg.model import ModelError
from gateleg.model.inspection import describe
from gateleg.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from gateleg.model import Access, Spec, Table
    from gateleg.store import Store


Schema = dict[str, Any]
_MAX_LIMIT = 100
_PAGE: dict[str, Schema] = {
    "limit": {"type": "integer", "minimum": 1, "maximum": _MAX_LIMIT, "default": 20, "description": "The maximum number of items."},
    "cursor": {"type": "string", "description": "The cursor of the previous page, to continue after it."},
}


@dataclass(frozen=True)
class StoreTool:
    """A tool: name, description, JSON schema of its arguments, and function."""

    name: str
    description: str
    schema: Schema
    ask: Callable[[Store, Mapping[str, Any]], Any]


def read_tools(tables: Iterable[Table]) -> list[StoreTool]:
    """A tool for each access pattern, one for each entity that gets an item by its key, and one that describes the tables."""
    declared = list(tables)
    tools = [tool for table in declared for spec in table.specs for tool in _entity_tools(spec)]
    return [_description(declared), *tools]


def _description(tables: list[Table]) -> StoreTool:
    about = "The declared tables: their entities, attributes, states, keys and access patterns."
    return StoreTool("describe_tables", about, _object({}, ()), lambda store, given: {"tables": [describe(table) for table in tables]})


def _entity_tools(spec: Spec[Any]) -> Iterator[StoreTool]:
    names = spec.key.names
    schema = _object({name: _schema(spec, name) for name in names}, names)
    about = f"One {spec.name} by its key, or null. {spec.doc}".strip()
    yield StoreTool(_name(f"{spec.name}_get"), about, schema, lambda store, given: {"item": _shown(store.find(spec.entity, **given))})
    for access in spec.patterns.values():
        yield _pattern_tool(spec, access)


def _pattern_tool(spec: Spec[Any], access: Access[Any]) -> StoreTool:
    arguments = {name: _schema(spec, name) for name in (*access.required, *access.optional)}
    about = f"{access.pattern.title}. {access.pattern.description}".strip()
    if access.optional:
        about += f" Optional, omitted from the last on: {', '.join(access.optional)}."

    def ask(store: Store, given: Mapping[str, Any]) -> Any:
        values = {name: value for name, value in given.items() if name not in _PAGE}
        partial = access.plan.index.project != "all"
        limit = max(1, min(_MAX_LIMIT, int(given.get("limit") or 20)))
        page = store.page(access(**values), limit=limit, cursor=given.get("cursor"), hydrate=partial)
        return {"items": [_shown(item) for item in page], "cursor": page.next}

    return StoreTool(_name(f"{spec.name}_{access.pattern.name}"), about, _object(arguments | _PAGE, access.required), ask)


def _shown(item: Any) -> Any:
    """An instance as JSON, without hidden attributes."""
    return None if item is None else item.model_dump(mode="json", exclude_none=True)


def _schema(spec: Spec[Any], name: str) -> Schema:
    source = spec.sources[name]
    attribute = spec.attributes[source.attribute]
    try:
        found = TypeAdapter(source.annotation).json_schema()
    except PydanticInvalidForJsonSchema:
        found = {"type": "string"}
    kept = {member: value for member, value in found.items() if member not in ("title", "description")}
    return kept | ({"description": attribute.info.description} if attribute.info.description else {})


def _object(properties: Mapping[str, Schema], required: Iterable[str]) -> Schema:
    return {"type": "object", "properties": dict(properties), "required": list(required), "additionalProperties": False}


def _name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", text)[:64]


Message = dict[str, Any]
#: supported protocol revisions, newest first; their messages do not differ here
REVISIONS = ("2025-06-18", "2025-03-26", "2024-11-05")
_NO_METHOD, _BAD_ARGUMENTS, _BAD_REQUEST = -32601, -32602, -32600


class McpSession:
    """Responds to the messages of one client."""

    def __init__(self, store: Store, tools: Sequence[StoreTool]) -> None:
        self._store = store
        self._tools = {tool.name: tool for tool in tools}

    def answer(self, message: Any) -> Message | None:
        """The response to a message; None for a notification."""
        if not isinstance(message, dict) or "method" not in message:
            return _refused(None, _BAD_REQUEST, "not a request")
        if "id" not in message:
            return None
        number, given = message["id"], message.get("params") or {}
        method = message["method"]
        if method == "initialize":
            return _result(number, self._introduction(given))
        if method == "ping":
            return _result(number, {})
        if method == "tools/list":
            return _result(number, {"tools": [_describe(tool) for tool in self._tools.values()]})
        if method == "tools/call":
            return self._call(number, given)
        return _refused(number, _NO_METHOD, f"no method {method}")

    def _introduction(self, given: Mapping[str, Any]) -> Message:
        wanted = given.get("protocolVersion")
        return {
            "protocolVersion": wanted if wanted in REVISIONS else REVISIONS[0],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "gateleg", "version": version("gateleg")},
        }

    def _call(self, number: Any, given: Mapping[str, Any]) -> Message:
        tool = self._tools.get(given.get("name", ""))
        arguments = given.get("arguments") or {}
        if tool is None or not isinstance(arguments, dict):
            return _refused(number, _BAD_ARGUMENTS, f"no tool {given.get('name')}")
        try:
            found = tool.ask(self._store, arguments)
        except (ModelError, StoreError, ValueError, TypeError) as error:
            # Return errors as results, so that the model can correct its arguments.
            return _result(number, {"content": [{"type": "text", "text": str(error)}], "isError": True})
        text = json.dumps(found, ensure_ascii=False, default=str)
        return _result(number, {"content": [{"type": "text", "text": text}], "structuredContent": json.loads(text), "isError": False})


def _describe(tool: StoreTool) -> Message:
    hints = {"readOnlyHint": True, "openWorldHint": False}
    return {"name": tool.name, "description": tool.description, "inputSchema": tool.schema, "annotations": hints}


def _result(number: Any, result: Message) -> Message:
    return {"jsonrpc": "2.0", "id": number, "result": result}


def _refused(number: Any, code: int, message: str) -> Message:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}
