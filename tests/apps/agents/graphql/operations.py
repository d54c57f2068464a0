"""Operations made from the schema: one for each field of the roots, which asks for everything that it has."""

from typing import Any

from graphql import GraphQLObjectType, get_named_type, is_required_argument

from gateleg.apps.agents.graphql.schema import make_schema

SCHEMA = make_schema()._schema
#: Asks another server.
_SKIPPED = frozenset({"MCPServerType.tools"})


def root_fields(kind: str) -> dict[str, Any]:
    """The fields of the queries, of the mutations or of the subscriptions."""
    root = {"query": SCHEMA.query_type, "mutation": SCHEMA.mutation_type, "subscription": SCHEMA.subscription_type}[kind]
    assert root is not None
    return dict(root.fields)


def operation(kind: str, name: str, given: dict[str, Any], depth: int = 3) -> str:
    """An operation with variables for what is given, and with everything selected."""
    field = root_fields(kind)[name]
    missing = [one for one, argument in field.args.items() if is_required_argument(argument) and one not in given]
    assert missing == [], f"{name} needs {missing}"
    declared = ", ".join(f"${one}: {field.args[one].type}" for one in given)
    passed = ", ".join(f"{one}: ${one}" for one in given)
    return (
        f"{kind} {'(' + declared + ')' if given else ''} {{ {name}{'(' + passed + ')' if given else ''} {selection(field.type, depth)} }}"
    )


def selection(kind: Any, depth: int) -> str:
    """All fields of a type, with those of objects below it."""
    named = get_named_type(kind)
    if not isinstance(named, GraphQLObjectType):
        return ""
    chosen = ["__typename"]
    for name, field in named.fields.items():
        inner = isinstance(get_named_type(field.type), GraphQLObjectType)
        if f"{named.name}.{name}" not in _SKIPPED and (depth > 1 or not inner):
            chosen.append(f"{name} {selection(field.type, depth - 1)}")
    return "{ " + " ".join(chosen) + " }"
