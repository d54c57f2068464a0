"""Limits on the depth, aliases and complexity of an operation, checked before it is resolved.

Complexity is the number of fields that would be resolved: those of a page count once for every row that its `limit` allows. A fragment is
measured once, however often it is used, so that measuring takes no longer than reading the document.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLObjectType,
    InlineFragmentNode,
    IntValueNode,
    OperationDefinitionNode,
    VariableNode,
    get_named_type,
    get_nullable_type,
    is_list_type,
)

from gateleg.apps.agents.errors import QueryTooComplex, QueryTooDeep, TooManyAliases

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphql import DocumentNode, GraphQLField, GraphQLNamedType, GraphQLSchema, SelectionSetNode, ValueNode

    from gateleg.apps.agents.errors import AgentsError

#: The default number of rows per page.
DEFAULT_PAGE_SIZE = 100
#: The maximum number of rows per page.
MAX_PAGE_SIZE = 1000
#: The assumed length of a list within an item.
_ASSUMED_LIST_LENGTH = 10
#: The list fields of page types, whose rows are counted by the `limit` of the parent field.
_PAGE_TYPE_SUFFIX = "ListType"
#: The cost of fields that read from the store or another server for every parent.
_FIELD_COSTS: Mapping[str, int] = {
    "ThreadType.messages": 20,
    "ThreadType.toolCalls": 20,
    "MCPServerType.tools": 200,
    "WizardGroupType.wizards": 20,
    "WizardType.wizardElements": 5,
}


@dataclass(frozen=True)
class Limits:
    """The limits of one operation."""

    depth: int = 12
    aliases: int = 30
    complexity: int = 50_000


@dataclass(frozen=True)
class QueryCost:
    """The measured size of a part of a document."""

    depth: int = 0
    aliases: int = 0
    complexity: int = 0

    def combine(self, other: QueryCost) -> QueryCost:
        """Both parts, at the same level."""
        return QueryCost(max(self.depth, other.depth), self.aliases + other.aliases, self.complexity + other.complexity)


class _CostCalculator:
    """Measures the operations of one document with the variables of a request."""

    def __init__(self, schema: GraphQLSchema, document: DocumentNode, variables: Mapping[str, Any]) -> None:
        self._schema = schema
        self._fragments = {one.name.value: one for one in document.definitions if isinstance(one, FragmentDefinitionNode)}
        self._variables = variables
        self._measured: dict[str, QueryCost] = {}

    def selections(self, chosen: SelectionSetNode | None, parent: GraphQLNamedType | None) -> QueryCost:
        """Measure a selection of fields of a type."""
        found = QueryCost()
        for node in () if chosen is None else chosen.selections:
            if isinstance(node, FieldNode):
                found = found.combine(self._field(node, parent))
            elif isinstance(node, FragmentSpreadNode):
                found = found.combine(self._fragment(node.name.value))
            elif isinstance(node, InlineFragmentNode):
                found = found.combine(self.selections(node.selection_set, self._type_named(node.type_condition) or parent))
        return found

    def _field(self, node: FieldNode, parent: GraphQLNamedType | None) -> QueryCost:
        name = node.name.value
        if name.startswith("__"):
            # Introspection: the rules of graphql-core bound its depth, and the schema its size.
            return QueryCost()
        declared = parent.fields.get(name) if isinstance(parent, GraphQLObjectType) else None
        inner = self.selections(node.selection_set, None if declared is None else get_named_type(declared.type))
        own = _FIELD_COSTS.get(f"{getattr(parent, 'name', '')}.{name}", 1)
        rows = 1 if declared is None or parent is None else self._row_count(node, declared, parent)
        # A list of JSON has rows, but no selected fields.
        each = inner.complexity or (declared is not None and "limit" in declared.args)
        return QueryCost(inner.depth + 1, inner.aliases + (node.alias is not None), own + rows * each)

    def _row_count(self, node: FieldNode, declared: GraphQLField, parent: GraphQLNamedType) -> int:
        """The maximum number of items of a field."""
        if "limit" in declared.args:
            given = next((one.value for one in node.arguments or () if one.name.value == "limit"), None)
            return DEFAULT_PAGE_SIZE if given is None else min(MAX_PAGE_SIZE, max(1, self._row_limit(given)))
        return _ASSUMED_LIST_LENGTH if is_list_type(get_nullable_type(declared.type)) and not parent.name.endswith(_PAGE_TYPE_SUFFIX) else 1

    def _row_limit(self, node: ValueNode) -> int:
        if isinstance(node, IntValueNode):
            return int(node.value)
        value = self._variables.get(node.name.value) if isinstance(node, VariableNode) else None
        return value if isinstance(value, int) else DEFAULT_PAGE_SIZE

    def _type_named(self, node: Any) -> GraphQLNamedType | None:
        return None if node is None else self._schema.get_type(node.name.value)

    def _fragment(self, name: str) -> QueryCost:
        if name not in self._measured:
            # A recursive fragment counts as nothing here; validation refuses it.
            self._measured[name] = QueryCost()
            fragment = self._fragments.get(name)
            if fragment is not None:
                self._measured[name] = self.selections(fragment.selection_set, self._type_named(fragment.type_condition))
        return self._measured[name]


def measure_cost(schema: GraphQLSchema, document: DocumentNode, variables: Mapping[str, Any] | None = None) -> QueryCost:
    """Measure all operations of a document together: one is run, but all are validated."""
    measuring = _CostCalculator(schema, document, variables or {})
    found = QueryCost()
    for one in document.definitions:
        if isinstance(one, OperationDefinitionNode):
            found = found.combine(measuring.selections(one.selection_set, schema.get_root_type(one.operation)))
    return found


def find_excess(found: QueryCost, limits: Limits) -> AgentsError | None:
    """The error of an operation over a limit; None if it is within all limits."""
    for kind, name, value, most in (
        (QueryTooDeep, "depth", found.depth, limits.depth),
        (TooManyAliases, "number of aliases", found.aliases, limits.aliases),
        (QueryTooComplex, "complexity", found.complexity, limits.complexity),
    ):
        if value > most:
            return kind(f"The {name} of this operation is {value}; the limit is {most}.", details={"limit": most, "found": value})
    return None
