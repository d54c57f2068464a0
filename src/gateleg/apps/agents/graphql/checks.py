"""Steps before every operation: convert strings to enums, check limits, create empty loaders."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import strawberry
from graphql import GraphQLError, OperationDefinitionNode
from strawberry.extensions import SchemaExtension

from gateleg.apps.agents.graphql.answers import shape_all
from gateleg.apps.agents.graphql.enum_texts import with_enums
from gateleg.apps.agents.graphql.limits import Limits, find_document_excess, find_excess, measure_cost, too_deep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphql import DocumentNode

    from gateleg.apps.agents.errors import AgentsError

#: The maximum number of tokens in a document. Parsing and validating so many takes the event loop about 30 ms.
MAX_TOKENS = 3_000
#: The number of valid documents that are cached, and their maximum length.
_KEPT, _LONGEST = 200, 20_000


@dataclass
class _Document:
    """A parsed document, with strings converted to enums."""

    node: DocumentNode
    valid: bool = False


class AgentsSchema(strawberry.Schema):
    """A schema whose errors have codes, with a cache of parsed documents."""

    def __init__(self, *args: Any, limits: Limits, **options: Any) -> None:
        self.limits = limits
        self.documents: OrderedDict[str, _Document] = OrderedDict()
        super().__init__(*args, **{**options, "extensions": [OperationChecks]})

    def process_errors(self, errors: list[GraphQLError], execution_context: Any = None) -> None:
        """Format errors for clients. Strawberry calls it once per response, on every transport."""
        shape_all(errors)

    def keep(self, query: str, document: _Document) -> None:
        """Cache a document."""
        if len(query) <= _LONGEST:
            self.documents[query] = document
            if len(self.documents) > _KEPT:
                self.documents.popitem(last=False)


class OperationChecks(SchemaExtension):
    """The steps from the text of an operation to its execution."""

    def on_operation(self) -> Iterator[None]:
        """Limit the document's size, and create empty loaders, because a websocket has one context for all its operations."""
        self._known: _Document | None = None
        self._excess: AgentsError | None = None
        self.execution_context.parse_options = {"max_tokens": MAX_TOKENS}
        begin = getattr(self.execution_context.context, "begin_operation", None)
        if begin is not None:
            self.execution_context.context = begin()
        yield

    def on_parse(self) -> Iterator[None]:
        """Take the document from the cache, or parse it, check its size, and convert strings to enums."""
        context, schema = self.execution_context, self._schema
        self._known = schema.documents.get(context.query or "")
        if self._known is not None:
            context.graphql_document = self._known.node
        yield
        if self._known is None and context.graphql_document is not None:
            self._excess = find_document_excess(context.graphql_document, schema.limits)
            if self._excess is None:
                try:
                    self._known = _Document(with_enums(schema._schema, context.graphql_document))
                except RecursionError:
                    self._excess = too_deep(schema.limits)
                else:
                    context.graphql_document = self._known.node

    def on_validate(self) -> Iterator[None]:
        """Check the limits, and validate documents that are not cached."""
        context, schema, known = self.execution_context, self._schema, self._known
        assert context.graphql_document is not None
        if context._provided_operation_name is None and _is_ambiguous(context.graphql_document):
            context.pre_execution_errors = [GraphQLError("The document has several operations. Set `operationName` to one of them.")]
            yield
            return
        excess = self._excess or self._operation_excess(context.graphql_document)
        if excess is not None:
            context.pre_execution_errors = [GraphQLError(excess.message, original_error=excess)]
        elif known is not None and known.valid:
            context.validation_rules = ()
        yield
        if known is not None and not known.valid and not context.pre_execution_errors:
            known.valid = True
            schema.keep(context.query or "", known)

    def _operation_excess(self, document: DocumentNode) -> AgentsError | None:
        schema = self._schema
        try:
            return find_excess(measure_cost(schema._schema, document, self.execution_context.variables), schema.limits)
        except RecursionError:
            # Fragments in fragments, more than there are levels of calls.
            return too_deep(schema.limits)

    @property
    def _schema(self) -> AgentsSchema:
        schema = self.execution_context.schema
        assert isinstance(schema, AgentsSchema)
        return schema


def _is_ambiguous(document: DocumentNode) -> bool:
    """Whether a document has more than one operation."""
    return sum(isinstance(one, OperationDefinitionNode) for one in document.definitions) > 1
