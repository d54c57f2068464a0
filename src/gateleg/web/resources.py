"""`Resources`: what the routes, pages, handlers, commands and demo of one application can use."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeVar

from gateleg.web.errors import StoreNotConfigured

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from pydantic import BaseModel

    from gateleg.ai import AsyncModels
    from gateleg.jobs import AsyncQueue
    from gateleg.net.http import GuardedClient
    from gateleg.objects import AsyncObjects
    from gateleg.store import AsyncStore
    from gateleg.web.audit import Audit
    from gateleg.web.contributions import OfferedTool
    from gateleg.web.events import Hub
    from gateleg.web.principal import Principal
    from gateleg.web.secret_store import Secrets
    from gateleg.web.webhooks import Webhooks

S = TypeVar("S", bound="BaseModel", default="BaseModel")


@dataclass(frozen=True)
class Resources(Generic[S]):
    """What a host gives to one of its applications. `Resources[ShopSettings]` has settings of that type.

    A host opens them; a worker has the same ones, opened in its own process.
    """

    #: the name of the application that they belong to
    application: str
    #: the store of all tables
    store: AsyncStore
    #: the store of all objects
    objects: AsyncObjects
    #: the job queue with the handlers of all installed applications
    queue: AsyncQueue
    #: the application's own section of the settings, as its `Application.settings` declares it
    settings: S
    #: chat and embedding models as the settings have them; what they use is recorded for the application
    models: AsyncModels
    #: live events: topics with one source each, shared by all who follow them
    events: Hub
    #: the audit log
    audit: Audit
    #: the application's secrets, by tenant and name
    secrets: Secrets
    #: sends requests to addresses that tenants have given, to public ones only
    outgoing: GuardedClient
    #: tells addresses of tenants of events: `webhooks.send("video.finished", {...}, tenant=...)`
    webhooks: Webhooks
    #: further object stores of the settings, by name
    stores: Mapping[str, AsyncObjects]
    #: the data folder of the host, in which every application has a folder of its own
    host_data: Path
    #: the tools of all applications that somebody may use, for models that act on their behalf
    tools_for: Callable[[Principal], Sequence[OfferedTool]]
    #: what the application's lifespan keeps for its routes, pages and handlers
    state: dict[str, Any] = field(default_factory=dict, repr=False)

    def objects_named(self, name: str) -> AsyncObjects:
        """The object store that the setting `object_stores` has under a name. Raises `StoreNotConfigured`."""
        if name not in self.stores:
            known = ", ".join(sorted(self.stores)) or "none"
            raise StoreNotConfigured(f"There is no object store named {name!r}; configured: {known}.")
        return self.stores[name]

    @property
    def data(self) -> Path:
        """The application's own folder on this machine, made when it is asked for. Nobody but the owner of the host can enter it."""
        # Imported here, because declaring an application loads no store.
        from gateleg.objects.private import make_private

        folder = self.host_data / "apps" / self.application
        make_private(folder)
        return folder
