"""Delphi's errors as answers of the API: each keeps its code and what to do, and is given a status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi.routing import APIRoute

from gateleg.apps.delphi.errors import ConversationMissing, DelphiError, RunMissing, UnreadableRows, UploadRaced, UploadTooLarge
from gateleg.web import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from fastapi import Request, Response

#: The status of errors; of those that are not here it is 422, because they are about what was sent.
STATUSES: dict[type[DelphiError], int] = {ConversationMissing: 404, RunMissing: 404, UploadRaced: 409, UploadTooLarge: 413}


def refusal_of(error: DelphiError) -> Refusal:
    """The answer that an error gives; of rows that cannot be read, with their lines."""
    details: dict[str, Any] = {}
    if isinstance(error, UnreadableRows):
        problems = [{"file": problem.file, "line": problem.line, "why": problem.why} for problem in error.problems]
        details = {"count": error.count, "problems": problems}
    refusal = Refusal(error.what, fix=error.fix, details=details)
    refusal.code = error.code
    refusal.status = STATUSES.get(type(error), 422)
    return refusal


class DelphiRoute(APIRoute):
    """A route whose Delphi errors come in the envelope of the host."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, with its errors told."""
        handler = super().get_route_handler()

        async def told(request: Request) -> Response:
            try:
                return await handler(request)
            except DelphiError as error:
                raise refusal_of(error) from error

        return told
