from typing import Any

import pytest
from graphql import build_schema, get_introspection_query, parse

from gateleg.apps.agents.graphql.limits import Limits, Measure, find_excess, measure

SCHEMA = build_schema("""
    type Query { thread(id: String): ThreadType  threadList(pageNumber: Int, limit: Int): ThreadListType }
    type ThreadListType { total: Int  threadList: [ThreadType] }
    type ThreadType { id: String  agent: AgentType  messages(limit: Int): [String] }
    type AgentType { name: String  mcpServers: [MCPServerType] }
    type MCPServerType { label: String  tools: [String] }
""")


@pytest.mark.parametrize(
    ("query", "variables", "found"),
    [
        ("{ thread { id } }", {}, Measure(2, 0, 2)),
        ("{ a: thread { x: id } }", {}, Measure(2, 2, 2)),
        # The page's own field, and for each of its rows the list field with what is selected of an item.
        ("{ threadList { threadList { id agent { name } } } }", {}, Measure(4, 0, 1 + 100 * 4)),
        ("{ threadList(limit: 7) { total threadList { id } } }", {}, Measure(3, 0, 1 + 7 * 3)),
        ("query q($n: Int) { threadList(limit: $n) { total } }", {"n": 50}, Measure(2, 0, 51)),
        ("query q($n: Int) { threadList(limit: $n) { total } }", {}, Measure(2, 0, 101)),
        ("{ thread { agent { mcpServers { label } } } }", {}, Measure(4, 0, 3 + 10)),
        ("{ thread { agent { mcpServers { tools } } } }", {}, Measure(4, 0, 3 + 10 * 200)),
        ("{ thread { messages } }", {}, Measure(2, 0, 1 + 20 + 100)),
        ("{ thread { messages(limit: 1000) } }", {}, Measure(2, 0, 1 + 20 + 1000)),
        ("{ ...F ...F } fragment F on Query { thread { ... { id } ... on ThreadType { id } } }", {}, Measure(2, 0, 6)),
    ],
)
def test_an_operation_is_measured_with_its_pages(query: str, variables: dict[str, Any], found: Measure) -> None:
    assert measure(SCHEMA, parse(query), variables) == found


def test_fragments_in_fragments_are_measured_at_once() -> None:
    # 2 ** 60 fields when they are written out.
    fragments = [f"fragment F{n} on Query {{ ...F{n + 1} ...F{n + 1} }}" for n in range(60)]
    query = "{ ...F0 } " + " ".join(fragments) + " fragment F60 on Query { a: thread { id } }"
    assert measure(SCHEMA, parse(query)) == Measure(2, 2**60, 2**61)


def test_a_fragment_inside_of_itself_is_measured_once() -> None:
    assert measure(SCHEMA, parse("{ ...F } fragment F on Query { thread { id } ...F }")) == Measure(2, 0, 2)


def test_introspection_is_free() -> None:
    assert measure(SCHEMA, parse(get_introspection_query())) == Measure()


def test_what_does_not_fit_the_schema_is_left_to_validation() -> None:
    assert measure(SCHEMA, parse("{ nothing { inner(limit: 5) { more } ...Gone } }")) == Measure(3, 0, 3)


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (Measure(12, 30, 50_000), None),
        (Measure(13, 0, 0), "query-too-deep"),
        (Measure(0, 31, 0), "too-many-aliases"),
        (Measure(0, 0, 50_001), "query-too-complex"),
    ],
)
def test_the_error_says_what_there_is_too_much_of(found: Measure, code: str | None) -> None:
    error = find_excess(found, Limits())
    assert (None if error is None else error.code) == code
