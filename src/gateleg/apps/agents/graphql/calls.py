"""`Call`: the context of resolvers, one for each operation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import strawberry

from gateleg.apps.agents.errors import BadField
from gateleg.apps.agents.graphql.limits import DEFAULT_PAGE_SIZE
from gateleg.apps.agents.graphql.loaders import Loaders

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection

    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.apps.agents.tenancy import Context
    from gateleg.host import Resources
    from gateleg.store import AsyncStore


@dataclass
class Call:
    """An operation's caller, partition and loaders."""

    request: HTTPConnection
    resources: Resources[AgentsSettings]
    context: Context
    loaders: Loaders
    #: the payload of a websocket's first message; set by strawberry
    connection_params: Any = None

    @classmethod
    def of(cls, request: HTTPConnection, resources: Resources[AgentsSettings], context: Context) -> Call:
        """The call of a request."""
        return cls(request, resources, context, Loaders(resources.store, context))

    @property
    def store(self) -> AsyncStore:
        """The unscoped store; services bind it to the partition of the context."""
        return self.resources.store

    @property
    def own(self) -> AsyncStore:
        """The store, bound to the partition of the call."""
        return self.resources.store.scope(self.context.partition)

    def checked_limit(self, limit: int | None) -> int:
        """The number of rows to read, by default 100. Raises `BadField`."""
        most = self.resources.settings.page_limit
        found = min(DEFAULT_PAGE_SIZE, most) if limit is None else limit
        if not 1 <= found <= most:
            raise BadField(f"limit is {found}; pages have 1 to {most} rows.", fix="Lower `limit`, and read further pages with `after`.")
        return found

    def begin_operation(self) -> Call:
        """This call with empty loaders."""
        return replace(self, loaders=Loaders(self.resources.store, self.context))


#: The `info` argument of resolvers.
Info: TypeAlias = strawberry.Info[Call, None]
