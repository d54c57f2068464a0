"""Limits on the structure of a document, checked before it is validated, and on the depth, aliases and complexity of its operation.

Validation compares fields of the same name at the same place with each other, and fragments at the same place too: repeating a field costs
the square of the repetitions. These comparisons are counted without making them, in time that grows with the document.

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


#: Counting comparisons ends after this many fields and spreads, and at this depth: a fragment may contain itself.
_MOST_VISITED, _DEEPEST = 50_000, 50


@dataclass(frozen=True)
class Limits:
    """The limits of one operation."""

    depth: int = 12
    aliases: int = 30
    complexity: int = 50_000
    #: operations and fragments of a document
    definitions: int = 100
    #: comparisons of fields and of fragments by which validation finds out whether they can be merged
    comparisons: int = 10_000


@dataclass(frozen=True)
class QueryCost:
    """The measured size of a part of a document."""

    depth: int = 0
    aliases: int = 0
    complexity: int = 0

    def combine(self, other: QueryCost) -> QueryCost:
        """Both parts, at the same level."""
        return QueryCost(max(self.depth, other.depth), self.aliases + other.aliases, self.complexity + other.complexity)


@dataclass(frozen=True)
class DocumentSize:
    """What validating a document depends on."""

    definitions: int
    comparisons: int


def measure_document(document: DocumentNode) -> DocumentSize:
    """Measure a document. Counting comparisons stops where it would take longer than reading the largest document."""
    fragments = {one.name.value: one.selection_set for one in document.definitions if isinstance(one, FragmentDefinitionNode)}
    sets = [one.selection_set for one in document.definitions if isinstance(one, FragmentDefinitionNode | OperationDefinitionNode)]
    #: selections that are merged with each other, each with its depth
    places: list[tuple[list[SelectionSetNode], int]] = [([one], 1) for one in sets]
    comparisons = visited = 0
    while places and visited <= _MOST_VISITED:
        merged, depth = places.pop()
        fields: dict[str, list[SelectionSetNode | None]] = {}
        spread: set[str] = set()
        for selection_set in merged:
            visited += len(selection_set.selections)
            for node in selection_set.selections:
                if isinstance(node, FieldNode):
                    fields.setdefault((node.alias or node.name).value, []).append(node.selection_set)
                elif isinstance(node, InlineFragmentNode):
                    merged.append(node.selection_set)
                elif isinstance(node, FragmentSpreadNode) and node.name.value not in spread:
                    spread.add(node.name.value)
                    fragment = fragments.get(node.name.value)
                    # A fragment may contain itself.
                    merged += [] if fragment is None or any(fragment is one for one in merged) else [fragment]
        comparisons += sum(count * (count - 1) // 2 for count in (len(spread), *map(len, fields.values())))
        if depth < _DEEPEST:
            inner = [[one for one in same if one is not None] for same in fields.values()]
            places += [(one, depth + 1) for one in inner if one]
    return DocumentSize(len(document.definitions), comparisons + (visited if visited > _MOST_VISITED else 0))


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


def find_document_excess(document: DocumentNode, limits: Limits) -> AgentsError | None:
    """The error of a document that would take too long to validate."""
    size = measure_document(document)
    for name, value, most in (
        ("number of operations and fragments", size.definitions, limits.definitions),
        ("number of repeated fields and fragments, each pair counted,", size.comparisons, limits.comparisons),
    ):
        if value > most:
            fix = "Select each field once at each place, and use fewer fragments."
            return QueryTooComplex(
                f"The {name} of this document is {value}; the limit is {most}.", fix=fix, details={"limit": most, "found": value}
            )
    return None


def too_deep(limits: Limits) -> AgentsError:
    """The error of a document whose fragments or values are nested too deeply to be read."""
    return QueryTooDeep(f"This document is nested too deeply; the limit of fields is {limits.depth}.", details={"limit": limits.depth})


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
