"""OpenTelemetry spans for requests. Needs the extra `tracing`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gateleg.extras import explained
from gateleg.store.observing.redaction import redacted

if TYPE_CHECKING:
    from gateleg.store.observing.hooks import Call


class Tracing:
    """A hook that records each request as an OpenTelemetry client span: `Store.connect(..., hooks=[Tracing()])`.

    Spans and their attributes are named by OpenTelemetry's conventions for DynamoDB. Spans never contain attribute values of items.
    `tracer` is by default that of the global tracer provider. Raises `MissingPackage` if OpenTelemetry is not installed.
    """

    def __init__(self, tracer: Any = None) -> None:
        if tracer is None:
            try:
                tracer = import_module("opentelemetry.trace").get_tracer("gateleg")
            except ModuleNotFoundError as error:
                raise explained(error) from error
        self._tracer = tracer

    def before(self, call: Call) -> None:
        """Start the span."""
        request = call.request
        names = {
            "db.system.name": "aws.dynamodb",
            "db.operation.name": request.operation,
            "gateleg.pattern": request.pattern,
            "gateleg.retries": request.retries,
        }
        if "TableName" in request.payload:
            names["aws.dynamodb.table_names"] = [request.payload["TableName"]]
        if "IndexName" in request.payload:
            names["aws.dynamodb.index_name"] = request.payload["IndexName"]
        call.notes["span"] = self._tracer.start_span(f"{request.operation} {request.pattern}", attributes=names)

    def after(self, call: Call) -> None:
        """End the span."""
        span = call.notes.pop("span")
        span.set_attribute("aws.dynamodb.count", call.items)
        span.set_attribute("gateleg.capacity_units", call.units)
        if call.error is not None:
            span.set_attribute("error.type", getattr(call.error, "code", type(call.error).__name__))
            span.add_event("refused", {"request": str(redacted(call.request.payload))})
        span.end()
