"""Tool servers of tenants: real ones, over the network, behind the guard."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateleg.apps.agents.errors import McpFailed
from gateleg.apps.agents.running.tools.internal_mcp import internal_server
from gateleg.apps.agents.running.tools.mcp_servers import McpServer, call_tool, check_health, list_tools
from gateleg.apps.agents.running.tools.tool_lists import FRESH, ToolListCache
from gateleg.apps.agents.tables import McpServer as StoredServer
from gateleg.apps.agents.thread_tables import RunStatus, ToolCallStatus
from gateleg.net import Guard
from gateleg.net.http import GuardedClient
from tests.apps.agents.running.hosted import calling, hosting
from tests.apps.agents.running.tools.mcp_fixture import ToolServer, tool_server
from tests.net.http.faulty import SILENCE, service

ALLOWED = GuardedClient(Guard(allow=("127.0.0.1",)))


@pytest.fixture
async def weather() -> AsyncIterator[ToolServer]:
    async with tool_server() as server:
        yield server


async def test_tools_are_listed_and_called(weather: ToolServer) -> None:
    server = McpServer("weather", weather.url, {"X-Api-Key": "k1"})
    forecast, storm = await list_tools(server, ALLOWED)
    assert (forecast.name, forecast.description, forecast.repeatable) == ("forecast", "The weather of tomorrow in a city.", True)
    assert (storm.repeatable, forecast.schema["required"]) == (False, ["city"])
    result = await call_tool(server, ALLOWED, "forecast", {"city": "Oslo"})
    assert (result.text, result.failed) == ("Rain in Oslo.", False)
    failed = await call_tool(server, ALLOWED, "storm", {"city": "Oslo"})
    assert failed.failed
    assert {request["x-api-key"] for request in weather.requests} == {"k1"}
    health = await check_health(server, ALLOWED)
    assert (health.ok, health.tools) == (True, 2)


async def test_only_allowed_tools_can_be_used(weather: ToolServer) -> None:
    server = McpServer("weather", weather.url, allowed=("forecast",))
    assert [tool.name for tool in await list_tools(server, ALLOWED)] == ["forecast"]
    with pytest.raises(McpFailed, match="not on its list"):
        await call_tool(server, ALLOWED, "storm", {"city": "Oslo"})


async def test_the_guard_stands_before_a_server(weather: ToolServer) -> None:
    with pytest.raises(McpFailed, match="not public"):
        await list_tools(McpServer("weather", weather.url), GuardedClient())
    assert weather.requests == []
    health = await check_health(McpServer("metadata", "http://169.254.169.254/mcp"), GuardedClient())
    assert (health.ok, "not public" in health.message) == (False, True)


async def test_names_of_headers_go_out_as_they_were_given() -> None:
    with service(SILENCE) as quiet:
        server = McpServer("quiet", f"{quiet.url}/mcp", {"X-Api-KEY": "k1", "authorization": "Bearer b"}, seconds=0.3)
        with pytest.raises(McpFailed, match="did not answer"):
            await list_tools(server, ALLOWED)
    sent = quiet.requests[0].decode()
    assert "\r\nX-Api-KEY: k1\r\n" in sent
    assert "\r\nauthorization: Bearer b\r\n" in sent


def test_the_internal_server_is_made_for_each_request() -> None:
    headers = {"X-Api-Key": "k1", "x-part-id": "old"}
    base = "http://tools.internal/{endpoint_id}/mcp"
    found = internal_server(base, headers, "aws-prod", "acme")
    assert found is not None
    assert (found.url, dict(found.headers)) == ("http://tools.internal/aws-prod/mcp", {"X-Api-Key": "k1", "X-Part-ID": "acme"})
    # Nothing is left behind for the next one.
    assert headers == {"X-Api-Key": "k1", "x-part-id": "old"}
    other = internal_server(base, headers, "aws-prod")
    assert other is not None
    assert dict(other.headers) == headers
    bare = internal_server(base, None, "aws-prod", "acme")
    assert bare is not None
    assert dict(bare.headers) == {}
    assert internal_server(None, headers, "aws-prod", "acme") is None


async def test_an_agent_uses_its_own_server_and_the_internal_one(tmp_path: Path, weather: ToolServer) -> None:
    internal = '{"base_url": "' + weather.url + '?of={endpoint_id}", "headers": {"X-House": "secret:house"}}'
    async with hosting(tmp_path, models={"OUTGOING_ALLOW": "127.0.0.1"}, internal_mcp=internal) as hosted:
        partition, secrets = hosted.context().partition, hosted.resources.secrets
        await secrets.put("tools", "k1", tenant=str(partition))
        await secrets.put("house", "h1")
        stored = StoredServer(
            partition=partition,
            mcp_label="weather",
            mcp_server_url=weather.url,
            headers={"X-Api-Key": "secret:tools"},
            allowed_tools=["forecast"],
        )
        gone = StoredServer(partition=partition, mcp_label="gone", mcp_server_url="http://127.0.0.1:1/mcp")
        for server in (stored, gone):
            await hosted.resources.store.create(server)
        wishes = calling(("weather_forecast", '{"city":"Oslo"}'), ("internal_forecast", '{"city":"Rome"}'))
        agent = await hosted.agent(wishes, "Rain.", mcp_server_uuids=[stored.mcp_server_uuid, gone.mcp_server_uuid])
        asked = await hosted.ask(agent)
        assert (await hosted.ended(asked)).status is RunStatus.COMPLETED
        calls = (await hosted.transcript(asked)).calls
        assert [(call.name, call.tool_type, call.content, call.status) for call in calls] == [
            ("weather.forecast", "mcp", "Rain in Oslo.", ToolCallStatus.COMPLETED),
            ("internal.forecast", "mcp", "Rain in Rome.", ToolCallStatus.COMPLETED),
        ]
        assert [tool.name for tool in hosted.script(agent).requests[0].tools] == ["weather_forecast", "internal_forecast", "internal_storm"]
    own = [request for request in weather.requests if "x-api-key" in request]
    house = [request for request in weather.requests if "x-house" in request]
    assert {request["x-api-key"] for request in own} == {"k1"}
    assert {(request["x-house"], request["x-part-id"]) for request in house} == {("h1", "acme")}
    assert not [request for request in own if "x-part-id" in request]


async def test_a_list_of_tools_is_believed_for_a_while(weather: ToolServer) -> None:
    now = [0.0]
    lists = ToolListCache(ALLOWED, lambda: now[0])
    server = McpServer("weather", weather.url, {"X-Api-Key": "k1"})
    await lists.tools_of(server)
    asked = len(weather.requests)
    await lists.tools_of(server)
    assert len(weather.requests) == asked
    # Another header may be another tenant.
    await lists.tools_of(McpServer("weather", weather.url, {"X-Api-Key": "k2"}))
    now[0] = FRESH
    before = len(weather.requests)
    await lists.tools_of(server)
    assert asked < before < len(weather.requests)
    gone = McpServer("gone", "http://127.0.0.1:1/mcp")
    for _ in range(2):
        with pytest.raises(McpFailed):
            await lists.tools_of(gone)
