"""The questions of declared tables as tools, and the protocol that offers them."""

from collections.abc import Iterator
from typing import Any

import pytest

from gateleg.model import spec_of
from gateleg.ops import read_tools
from gateleg.ops.tools import McpSession
from gateleg.store import Store
from tests.model.seeds import agents, delphi, jobs, mv, rag
from tests.model.seeds.jobs import Job

TOOLS = {tool.name: tool for tool in read_tools([spec_of(Job).table])}


@pytest.fixture
def host() -> Iterator[McpSession]:
    with Store.embedded() as store:
        store.create_tables(spec_of(Job).table)
        for priority in range(5):
            store.create(Job(job_type="report", conversation_id="c", priority=priority))
        yield McpSession(store, list(TOOLS.values()))


def asked(host: McpSession, method: str, **params: Any) -> Any:
    answer = host.answer({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
    assert answer is not None
    assert answer["id"] == 7
    return answer.get("result") or answer["error"]


def test_every_pattern_and_every_key_is_a_tool() -> None:
    assert set(TOOLS) == {
        "describe_tables",
        "Job_get",
        "Job_in_status",
        "Job_of_conversation",
        "Job_of_type",
        "Job_of_worker",
        "Job_ready",
        "Job_leased",
    }


def test_arguments_have_the_schema_of_their_attributes() -> None:
    schema = TOOLS["Job_in_status"].schema
    assert "PENDING" in schema["properties"]["status"]["enum"]
    assert schema["required"] == ["status"]
    assert TOOLS["Job_get"].schema["properties"]["job_id"] == {"format": "uuid", "type": "string"}


@pytest.mark.parametrize("module", [agents, delphi, jobs, mv, rag])
def test_every_argument_of_the_seeds_has_a_type(module: Any) -> None:
    tables = {spec_of(value).table for value in vars(module).values() if isinstance(value, type) and value.__dict__.get("__table__")}
    tools = read_tools(tables)
    arguments = [schema for tool in tools for schema in tool.schema["properties"].values()]
    assert all(schema.keys() & {"type", "anyOf"} and "$ref" not in str(schema) for schema in arguments)
    assert len({tool.name for tool in tools}) == len(tools)


def test_a_pattern_is_asked_page_by_page(host: McpSession) -> None:
    first = asked(host, "tools/call", name="Job_of_type", arguments={"job_type": "report", "limit": 3})["structuredContent"]
    assert [item["priority"] for item in first["items"]] == [4, 3, 2]
    arguments = {"job_type": "report", "limit": 3, "cursor": first["cursor"]}
    rest = asked(host, "tools/call", name="Job_of_type", arguments=arguments)["structuredContent"]
    assert ([item["priority"] for item in rest["items"]], rest["cursor"]) == ([1, 0], None)


def test_an_item_that_is_not_there_is_null(host: McpSession) -> None:
    nobody = {"job_id": "00000000-0000-0000-0000-000000000000"}
    assert asked(host, "tools/call", name="Job_get", arguments=nobody)["structuredContent"] == {"item": None}


@pytest.mark.parametrize(
    ("arguments", "words"), [({}, "needs status"), ({"status": "LATE"}, "cannot be 'LATE'"), ({"status": "PENDING", "limit": "x"}, "'x'")]
)
def test_a_wrong_argument_is_a_result_to_learn_from(host: McpSession, arguments: dict[str, Any], words: str) -> None:
    result = asked(host, "tools/call", name="Job_in_status", arguments=arguments)
    assert result["isError"]
    assert words in result["content"][0]["text"]


def test_tools_are_listed_as_reading_only(host: McpSession) -> None:
    tools = asked(host, "tools/list")["tools"]
    assert all(tool["annotations"]["readOnlyHint"] for tool in tools)
    assert tools[0]["name"] == "describe_tables"


@pytest.mark.parametrize(("wanted", "agreed"), [("2024-11-05", "2024-11-05"), ("1999-01-01", "2025-06-18")])
def test_a_revision_of_the_protocol_is_agreed_on(host: McpSession, wanted: str, agreed: str) -> None:
    assert asked(host, "initialize", protocolVersion=wanted)["protocolVersion"] == agreed


def test_what_is_not_understood_is_refused(host: McpSession) -> None:
    assert asked(host, "resources/list")["code"] == -32601
    assert asked(host, "tools/call", name="Job_delete")["code"] == -32602
    assert host.answer(["no", "request"]) == {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "not a request"}}


def test_notifications_have_no_answer(host: McpSession) -> None:
    assert host.answer({"jsonrpc": "2.0", "method": "notifications/initialized"}) is None
