"""Call the hooks of a request, for the sync and the async driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.store.observing.hooks import Call, item_count
from gateleg.store.rates import used

if TYPE_CHECKING:
    from gateleg.store.flow import Request
    from gateleg.store.setup import Setup

_UNMETERED = frozenset(
    {"CreateTable", "DeleteTable", "DescribeTable", "DescribeTimeToLive", "UpdateTimeToLive", "UpdateTable", "ListTables"}
)


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
