"""How much one operation may ask for: its depth, its aliases and its complexity, measured before anything is resolved.

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

#: Rows of a page when a query does not say how many.
PAGE = 100
#: The most rows of a page.
MAX_PAGE = 1000
#: Items that a list inside of an item is taken to have.
_ITEMS = 10
#: What pages are: objects around a list, whose rows are counted by the `limit` of the field above.
_PAGE_TYPES = "ListType"
#: Fields that cost more than a value: each asks the store, or another server, for every parent.
_DEAR: Mapping[str, int] = {
    "ThreadType.messages": 20,
    "ThreadType.toolCalls": 20,
    "MCPServerType.tools": 200,
    "WizardGroupType.wizards": 20,
    "WizardType.wizardElements": 5,
}


@dataclass(frozen=True)
class Limits:
    """What one operation may have at most."""

    depth: int = 12
    aliases: int = 30
    complexity: int = 50_000


@dataclass(frozen=True)
class Measure:
    """What a part of a document asks for."""

    depth: int = 0
    aliases: int = 0
    complexity: int = 0

    def beside(self, other: Measure) -> Measure:
        """Both parts, at the same level."""
        return Measure(max(self.depth, other.depth), self.aliases + other.aliases, self.complexity + other.complexity)


class _Measuring:
    """Measures the operations of one document with the variables of a request."""

    def __init__(self, schema: GraphQLSchema, document: DocumentNode, variables: Mapping[str, Any]) -> None:
        self._schema = schema
        self._fragments = {one.name.value: one for one in document.definitions if isinstance(one, FragmentDefinitionNode)}
        self._variables = variables
        self._measured: dict[str, Measure] = {}

    def selections(self, chosen: SelectionSetNode | None, parent: GraphQLNamedType | None) -> Measure:
        """What a selection of fields of a type asks for."""
        found = Measure()
        for node in () if chosen is None else chosen.selections:
            if isinstance(node, FieldNode):
                found = found.beside(self._field(node, parent))
            elif isinstance(node, FragmentSpreadNode):
                found = found.beside(self._fragment(node.name.value))
            elif isinstance(node, InlineFragmentNode):
                found = found.beside(self.selections(node.selection_set, self._named(node.type_condition) or parent))
        return found

    def _field(self, node: FieldNode, parent: GraphQLNamedType | None) -> Measure:
        name = node.name.value
        if name.startswith("__"):
            # Introspection: the rules of graphql-core bound its depth, and the schema its size.
            return Measure()
        declared = parent.fields.get(name) if isinstance(parent, GraphQLObjectType) else None
        inner = self.selections(node.selection_set, None if declared is None else get_named_type(declared.type))
        own = _DEAR.get(f"{getattr(parent, 'name', '')}.{name}", 1)
        rows = 1 if declared is None or parent is None else self._rows(node, declared, parent)
        # A list of JSON has rows, too, and nothing that is selected of them.
        each = inner.complexity or (declared is not None and "limit" in declared.args)
        return Measure(inner.depth + 1, inner.aliases + (node.alias is not None), own + rows * each)

    def _rows(self, node: FieldNode, declared: GraphQLField, parent: GraphQLNamedType) -> int:
        """How many items a field may have."""
        if "limit" in declared.args:
            given = next((one.value for one in node.arguments or () if one.name.value == "limit"), None)
            return PAGE if given is None else min(MAX_PAGE, max(1, self._number(given)))
        return _ITEMS if is_list_type(get_nullable_type(declared.type)) and not parent.name.endswith(_PAGE_TYPES) else 1

    def _number(self, node: ValueNode) -> int:
        if isinstance(node, IntValueNode):
            return int(node.value)
        value = self._variables.get(node.name.value) if isinstance(node, VariableNode) else None
        return value if isinstance(value, int) else PAGE

    def _named(self, node: Any) -> GraphQLNamedType | None:
        return None if node is None else self._schema.get_type(node.name.value)

    def _fragment(self, name: str) -> Measure:
        if name not in self._measured:
            # A fragment that is used inside of itself counts nothing there; validation refuses it.
            self._measured[name] = Measure()
            fragment = self._fragments.get(name)
            if fragment is not None:
                self._measured[name] = self.selections(fragment.selection_set, self._named(fragment.type_condition))
        return self._measured[name]


def measure(schema: GraphQLSchema, document: DocumentNode, variables: Mapping[str, Any] | None = None) -> Measure:
    """What the operations of a document ask for, together: a document has one that is run, and others that are validated only."""
    measuring = _Measuring(schema, document, variables or {})
    found = Measure()
    for one in document.definitions:
        if isinstance(one, OperationDefinitionNode):
            found = found.beside(measuring.selections(one.selection_set, schema.get_root_type(one.operation)))
    return found


def find_excess(found: Measure, limits: Limits) -> AgentsError | None:
    """The error for an operation that asks for too much; None when it does not."""
    for kind, name, value, most in (
        (QueryTooDeep, "depth", found.depth, limits.depth),
        (TooManyAliases, "number of aliases", found.aliases, limits.aliases),
        (QueryTooComplex, "complexity", found.complexity, limits.complexity),
    ):
        if value > most:
            return kind(f"The {name} of this operation is {value}; at most {most} is allowed.", details={"limit": most, "found": value})
    return None
