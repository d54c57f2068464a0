"""Enums that accept texts: clients that send `status: "active"`, or a variable of type `String`, need not know that `status` is an enum.

A document is rewritten before it is validated: texts become names of the enum that stands at their place, and variables take its type.
Values that the enum does not have are then refused by the ordinary rules, which name the ones that it has.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from graphql import (
    EnumValueNode,
    GraphQLEnumType,
    GraphQLString,
    ListTypeNode,
    NamedTypeNode,
    NameNode,
    NonNullTypeNode,
    StringValueNode,
    TypeInfo,
    TypeInfoVisitor,
    VariableDefinitionNode,
    Visitor,
    get_named_type,
    type_from_ast,
    visit,
)

if TYPE_CHECKING:
    from graphql import DocumentNode, GraphQLSchema, TypeNode


class _Usages(Visitor):
    """Which variables of type String stand where an enum is expected, and which stand anywhere else, by name."""

    def __init__(self, info: TypeInfo) -> None:
        super().__init__()
        self._info = info
        self._in_definition = False
        self.enums: dict[str, set[str]] = {}
        self.others: set[str] = set()

    def enter_variable_definition(self, *_: Any) -> None:
        self._in_definition = True

    def leave_variable_definition(self, *_: Any) -> None:
        self._in_definition = False

    def enter_variable(self, node: Any, *_: Any) -> None:
        if self._in_definition:
            return
        expected = get_named_type(self._info.get_input_type())
        if isinstance(expected, GraphQLEnumType):
            self.enums.setdefault(node.name.value, set()).add(expected.name)
        else:
            self.others.add(node.name.value)

    def types(self) -> dict[str, str]:
        """The enum of each variable that stands for one enum only."""
        return {name: next(iter(found)) for name, found in self.enums.items() if len(found) == 1 and name not in self.others}


class _Retype(Visitor):
    """Gives variables of type String the enums that they stand for."""

    def __init__(self, schema: GraphQLSchema, types: dict[str, str]) -> None:
        super().__init__()
        self._schema = schema
        self._types = types

    def enter_variable_definition(self, node: VariableDefinitionNode, *_: Any) -> Any:
        enum = self._types.get(node.variable.name.value)
        if enum is None or get_named_type(type_from_ast(self._schema, node.type)) is not GraphQLString:
            return None
        return replace(node, type=_renamed(node.type, enum))


class _Names(Visitor):
    """Makes names of enums of the texts that stand at their places."""

    def __init__(self, info: TypeInfo) -> None:
        super().__init__()
        self._info = info

    def enter_string_value(self, node: StringValueNode, *_: Any) -> Any:
        expected = get_named_type(self._info.get_input_type())
        known = isinstance(expected, GraphQLEnumType) and node.value in expected.values
        return EnumValueNode(value=node.value, loc=node.loc) if known else None


def _renamed(node: TypeNode, name: str) -> TypeNode:
    """A type with another name in its lists and exclamation marks."""
    if isinstance(node, NonNullTypeNode | ListTypeNode):
        return type(node)(type=_renamed(node.type, name), loc=node.loc)  # type: ignore[arg-type]
    return NamedTypeNode(name=NameNode(value=name), loc=node.loc)


def with_enums(schema: GraphQLSchema, document: DocumentNode) -> DocumentNode:
    """A document in which texts and variables of type String stand as the enums that their places expect."""
    info = TypeInfo(schema)
    usages = _Usages(info)
    visit(document, TypeInfoVisitor(info, usages))
    types = usages.types()
    if types:
        document = visit(document, _Retype(schema, types))
    info = TypeInfo(schema)
    found: DocumentNode = visit(document, TypeInfoVisitor(info, _Names(info)))
    return found
