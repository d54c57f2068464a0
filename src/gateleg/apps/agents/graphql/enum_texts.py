"""Lets clients send strings for enums: `status: "active"`, or a variable of type `String`.

A document is rewritten before it is validated: strings in the place of an enum become enum values, and variables take the enum's type.
Invalid values are then refused by the ordinary validation rules, whose errors name the valid ones.
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
    """The variables of type String that are used in place of enums, and those used elsewhere, by name."""

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
        """The enum of each variable that is used for one enum only."""
        return {name: next(iter(found)) for name, found in self.enums.items() if len(found) == 1 and name not in self.others}


class _Retype(Visitor):
    """Changes the type of variables from String to the enum that they are used for."""

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
    """Replaces string literals in the place of enums by enum values."""

    def __init__(self, info: TypeInfo) -> None:
        super().__init__()
        self._info = info

    def enter_string_value(self, node: StringValueNode, *_: Any) -> Any:
        expected = get_named_type(self._info.get_input_type())
        known = isinstance(expected, GraphQLEnumType) and node.value in expected.values
        return EnumValueNode(value=node.value, loc=node.loc) if known else None


def _renamed(node: TypeNode, name: str) -> TypeNode:
    """A type with another name, keeping its list and non-null wrappers."""
    if isinstance(node, NonNullTypeNode | ListTypeNode):
        return type(node)(type=_renamed(node.type, name), loc=node.loc)  # type: ignore[arg-type]
    return NamedTypeNode(name=NameNode(value=name), loc=node.loc)


def with_enums(schema: GraphQLSchema, document: DocumentNode) -> DocumentNode:
    """Rewrite a document: strings and String variables in the place of enums become enums."""
    info = TypeInfo(schema)
    usages = _Usages(info)
    visit(document, TypeInfoVisitor(info, usages))
    types = usages.types()
    if types:
        document = visit(document, _Retype(schema, types))
    info = TypeInfo(schema)
    found: DocumentNode = visit(document, TypeInfoVisitor(info, _Names(info)))
    return found
