"""Agents as tools for the official MCP client."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from gateleg.ai.errors import ModelRefused
from tests.apps.agents.running.hosted import EVE
from tests.apps.agents.web.conftest import Served


@asynccontextmanager
async def connected(served: Served, name: str, mode: str = "auto") -> AsyncIterator[Client]:
    transport = httpx2.ASGITransport(served.app, client=("127.0.0.1", 50_000))
    headers = {"Authorization": f"Bearer {served.tokens[name]}"}
    async with (
        httpx2.AsyncClient(transport=transport, headers=headers) as http,
        Client(streamable_http_client("http://127.0.0.1:8000/mcp/agents", http_client=http), mode=mode, cache=None) as client,
    ):
        yield client


async def test_agents_are_tools_of_their_tenant(served: Served) -> None:
    agent = await served.hosted.agent("Tea.", "At four.", agent_name="Butler", agent_description="Knows when tea is served.")
    await served.hosted.agent(principal=EVE, agent_name="Stranger")
    async with connected(served, "ann") as client:
        (tool,) = (await client.list_tools()).tools
        assert (tool.name, tool.title, tool.description) == ("butler", "Butler", "Knows when tea is served.")
        first = await client.call_tool("butler", {"message": "What do you serve?"})
        assert (first.content[0].text, first.is_error) == ("Tea.", False)  # type: ignore[union-attr]
        again = await client.call_tool("butler", {"message": "When?", "thread_uuid": first.structured_content["thread_uuid"]})
        assert again.structured_content["answer"] == "At four."
    assert [message.text for message in served.hosted.script(agent).requests[1].messages] == ["What do you serve?", "Tea.", "When?"]


async def test_errors_and_other_tenants(served: Served) -> None:
    await served.hosted.agent(ModelRefused("No."), agent_name="Butler")
    async with connected(served, "eve", "legacy") as client:
        assert (await client.list_tools()).tools == []
        answer = await client.call_tool("butler", {"message": "?"})
        assert answer.is_error
    async with connected(served, "ann", "legacy") as client:
        assert (await client.call_tool("butler", {"message": "?"})).is_error


@pytest.mark.parametrize("arguments", [{}, {"message": ""}, {"message": " "}, {"message": 5}])
async def test_a_call_without_a_message_asks_nothing(served: Served, arguments: dict[str, Any]) -> None:
    agent = await served.hosted.agent("Never.", agent_name="Butler")
    async with connected(served, "ann") as client:
        answer = await client.call_tool("butler", arguments)
    assert (answer.is_error, "message must be a non-empty string" in answer.content[0].text) == (True, True)  # type: ignore[union-attr]
    assert served.hosted.script(agent).requests == []
