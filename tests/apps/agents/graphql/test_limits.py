from typing import Any

import pytest
from graphql import build_schema, get_introspection_query, parse

from gateleg.apps.agents.graphql.limits import (
    DocumentSize,
    Limits,
    QueryCost,
    find_document_excess,
    find_excess,
    measure_cost,
    measure_document,
)

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
        ("{ thread { id } }", {}, QueryCost(2, 0, 2)),
        ("{ a: thread { x: id } }", {}, QueryCost(2, 2, 2)),
        # The page's own field, and for each of its rows the list field with what is selected of an item.
        ("{ threadList { threadList { id agent { name } } } }", {}, QueryCost(4, 0, 1 + 100 * 4)),
        ("{ threadList(limit: 7) { total threadList { id } } }", {}, QueryCost(3, 0, 1 + 7 * 3)),
        ("query q($n: Int) { threadList(limit: $n) { total } }", {"n": 50}, QueryCost(2, 0, 51)),
        ("query q($n: Int) { threadList(limit: $n) { total } }", {}, QueryCost(2, 0, 101)),
        ("{ thread { agent { mcpServers { label } } } }", {}, QueryCost(4, 0, 3 + 10)),
        ("{ thread { agent { mcpServers { tools } } } }", {}, QueryCost(4, 0, 3 + 10 * 200)),
        ("{ thread { messages } }", {}, QueryCost(2, 0, 1 + 20 + 100)),
        ("{ thread { messages(limit: 1000) } }", {}, QueryCost(2, 0, 1 + 20 + 1000)),
        ("{ ...F ...F } fragment F on Query { thread { ... { id } ... on ThreadType { id } } }", {}, QueryCost(2, 0, 6)),
    ],
)
def test_an_operation_is_measured_with_its_pages(query: str, variables: dict[str, Any], found: QueryCost) -> None:
    assert measure_cost(SCHEMA, parse(query), variables) == found


def test_fragments_in_fragments_are_measured_at_once() -> None:
    # 2 ** 60 fields when they are written out.
    fragments = [f"fragment F{n} on Query {{ ...F{n + 1} ...F{n + 1} }}" for n in range(60)]
    query = "{ ...F0 } " + " ".join(fragments) + " fragment F60 on Query { a: thread { id } }"
    assert measure_cost(SCHEMA, parse(query)) == QueryCost(2, 2**60, 2**61)


def test_a_fragment_inside_of_itself_is_measured_once() -> None:
    assert measure_cost(SCHEMA, parse("{ ...F } fragment F on Query { thread { id } ...F }")) == QueryCost(2, 0, 2)


def test_introspection_is_free() -> None:
    assert measure_cost(SCHEMA, parse(get_introspection_query())) == QueryCost()


def test_what_does_not_fit_the_schema_is_left_to_validation() -> None:
    assert measure_cost(SCHEMA, parse("{ nothing { inner(limit: 5) { more } ...Gone } }")) == QueryCost(3, 0, 3)


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (QueryCost(12, 30, 50_000), None),
        (QueryCost(13, 0, 0), "query-too-deep"),
        (QueryCost(0, 31, 0), "too-many-aliases"),
        (QueryCost(0, 0, 50_001), "query-too-complex"),
    ],
)
def test_the_error_says_what_there_is_too_much_of(found: QueryCost, code: str | None) -> None:
    error = find_excess(found, Limits())
    assert (None if error is None else error.code) == code


@pytest.mark.parametrize(
    ("query", "comparisons"),
    [
        ("{ a: thread { id } b: thread { id } }", 0),
        ("{ thread { id } thread { id } thread { id } }", 3 + 3),
        ("{ a: thread { id id } a: thread { id } }", 1 + 3),
        # In inline fragments and in fragments, which are themselves compared with each other.
        ("{ thread { id ... { id } ... on ThreadType { id } } }", 3),
        ("{ ...F ...G } fragment F on Query { thread { id } } fragment G on Query { thread { id } }", 1 + 1 + 1),
        ("{ ...F ...F } fragment F on Query { thread { id } }", 0),
        ("{ ...F } fragment F on Query { thread { ...F } ...F }", 0),
    ],
)
def test_what_validation_would_compare_is_counted(query: str, comparisons: int) -> None:
    document = parse(query)
    assert measure_document(document) == DocumentSize(len(document.definitions), comparisons)


def test_counting_ends_where_fragments_multiply() -> None:
    """Each fragment selects the next one at two places, so there are 2 ** 90 places."""
    inner = "".join(f"fragment F{n} on AgentType {{ a: agent {{ ...F{n + 1} }} b: agent {{ ...F{n + 1} }} }}" for n in range(90))
    document = parse(f"{{ thread {{ agent {{ ...F0 }} }} }} {inner} fragment F90 on AgentType {{ name }}")
    assert measure_document(document).comparisons > Limits().comparisons


@pytest.mark.parametrize(
    "query",
    [
        "{" + "thread { id } " * 200 + "}",
        "{" + "... on Query { thread { id } } " * 200 + "}",
        "{" + " ".join(f"...F{n}" for n in range(90)) + "}" + "".join(f"fragment F{n} on Query {{ thread {{ id }} }}" for n in range(90)),
        "{ ...F0 }" + "".join(f"fragment F{n} on Query {{ ...F{n + 1} }}" for n in range(100)) + "fragment F100 on Query { thread { id } }",
    ],
)
def test_documents_that_take_long_to_validate_are_refused(query: str) -> None:
    excess = find_document_excess(parse(query), Limits(comparisons=5_000))
    assert excess is not None
    assert excess.code == "query-too-complex"
    assert find_document_excess(parse("{ thread { id } }"), Limits()) is None
