"""Observe requests: hooks, which are called before and after every request, and two of them, `Metrics` and `Tracing`."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from gateleg.extras import explained
from gateleg.store.errors import redacted
from gateleg.store.setup import used

if TYPE_CHECKING:
    from gateleg.store.flow import Request
    from gateleg.store.setup import Setup

__all__ = ["Tally", "item_count"]

_UNMETERED = frozenset(
    {"CreateTable", "DeleteTable", "DescribeTable", "DescribeTimeToLive", "UpdateTimeToLive", "UpdateTable", "ListTables"}
)


@dataclass(slots=True)
class Call:
    """A request as hooks see it. All but `request` and `notes` is set before `after` is called."""

    request: Request
    #: seconds from sending the request to its response
    seconds: float = 0.0
    #: consumed capacity units, as reported in the response
    units: float = 0.0
    #: the number of items in the response
    items: int = 0
    error: Exception | None = None
    #: how often the transport sent the request, if known
    attempts: int = 1
    #: for hooks to keep data between `before` and `after`
    notes: dict[str, Any] = field(default_factory=dict)


class Hook(Protocol):
    """Observes every request of a store: `Store.connect(..., hooks=[hook])`. Called in the thread that sends it; must not raise."""

    def before(self, call: Call) -> None:
        """Called before the request is sent."""
        ...

    def after(self, call: Call) -> None:
        """Called after the response arrived, or after the request failed with `call.error`."""
        ...


@dataclass(frozen=True)
class Tally:
    """The totals of one pattern and operation."""

    requests: int = 0
    errors: int = 0
    retries: int = 0
    items: int = 0
    units: float = 0.0
    seconds: float = 0.0
    #: the longest request, in seconds
    longest: float = 0.0


class Metrics:
    """A hook that adds up requests, errors, items, capacity and time: `Store.connect(..., hooks=[metrics])`, `metrics.by_pattern()`."""

    def __init__(self) -> None:
        self._tallies: dict[tuple[str, str], Tally] = {}
        self._lock = threading.Lock()

    def before(self, call: Call) -> None:
        """Do nothing."""

    def after(self, call: Call) -> None:
        """Add the request to the totals of its pattern."""
        place = (call.request.pattern, call.request.operation)
        with self._lock:
            tally = self._tallies.get(place, Tally())
            self._tallies[place] = replace(
                tally,
                requests=tally.requests + 1,
                errors=tally.errors + (call.error is not None),
                retries=tally.retries + (call.request.retries > 0),
                items=tally.items + call.items,
                units=tally.units + call.units,
                seconds=tally.seconds + call.seconds,
                longest=max(tally.longest, call.seconds),
            )

    def by_pattern(self) -> dict[tuple[str, str], Tally]:
        """The totals so far, by pattern and operation."""
        with self._lock:
            return dict(self._tallies)

    def reset(self) -> dict[tuple[str, str], Tally]:
        """Return the totals so far, and start again from zero."""
        with self._lock:
            tallies, self._tallies = self._tallies, {}
            return tallies


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


class ObservedRequest:
    """A context manager that calls the hooks before and after a request; `record` takes its response."""

    def __init__(self, request: Request, setup: Setup) -> None:
        self._setup = setup
        self._call = Call(request)
        self._start = 0.0

    @property
    def payload(self) -> dict[str, Any]:
        """The request's payload; with hooks, it also asks for the consumed capacity."""
        request = self._call.request
        if not self._setup.hooks or request.operation in _UNMETERED or "ReturnConsumedCapacity" in request.payload:
            return request.payload
        return request.payload | {"ReturnConsumedCapacity": "TOTAL"}

    def __enter__(self) -> ObservedRequest:
        for hook in self._setup.hooks:
            hook.before(self._call)
        self._start = self._setup.ticks()
        return self

    def record(self, response: dict[str, Any]) -> dict[str, Any]:
        """Record capacity and items of the response, and return it."""
        self._call.units = used(response)
        self._call.items = item_count(response)
        return response

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._call.seconds = self._setup.ticks() - self._start
        if isinstance(error, Exception):
            self._call.error = error
            self._call.attempts = getattr(error, "attempts", 1)
        for hook in reversed(self._setup.hooks):
            hook.after(self._call)


def item_count(response: dict[str, Any]) -> int:
    """The number of items that a response contains or counts."""
    if "Count" in response:
        return int(response["Count"])
    if "Responses" in response:
        responses = response["Responses"]
        return sum(map(len, responses.values())) if isinstance(responses, dict) else sum("Item" in response for response in responses)
    return int("Item" in response or "Attributes" in response)
