"""A Model Context Protocol (MCP) server that lists the tools and calls them."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from gateleg.model import ModelError
from gateleg.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateleg.ops.tools import StoreTool
    from gateleg.store import Store

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
