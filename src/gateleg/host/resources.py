"""`Resources`: what the routes, pages, handlers, commands and demo of one application can use."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeVar

from gateleg.host.errors import StoreNotConfigured
from gateleg.host.metrics import HostMetrics
from gateleg.private_files import make_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from prometheus_client.registry import CollectorRegistry
    from pydantic import BaseModel

    from gateleg.ai import AsyncModels
    from gateleg.host.application import OfferedTool
    from gateleg.host.audit import Audit
    from gateleg.host.live import Hub
    from gateleg.host.principal import Principal
    from gateleg.host.secrets import Secrets
    from gateleg.host.webhooks import Webhooks
    from gateleg.jobs import AsyncQueue
    from gateleg.net.http import GuardedClient
    from gateleg.objects import AsyncObjects
    from gateleg.store import AsyncStore

__all__ = ["Resources"]

S = TypeVar("S", bound="BaseModel", default="BaseModel")


@dataclass(frozen=True)
class Resources(Generic[S]):
    """Everything that a host provides to one application. `Resources[ShopSettings]` has settings of that type.

    Hosts and workers open the same resources, each in its own process.
    """

    #: the name of the application
    application: str
    #: the store of all tables
    store: AsyncStore
    #: the store of all objects
    objects: AsyncObjects
    #: the job queue with the handlers of all installed applications
    queue: AsyncQueue
    #: the application's own section of the settings, as its `Application.settings` declares it
    settings: S
    #: the configured chat and embedding models; their usage is billed to the application
    models: AsyncModels
    #: live events: topics with one source each, shared by all subscribers
    events: Hub
    #: the audit log
    audit: Audit
    #: the application's secrets, by tenant and name
    secrets: Secrets
    #: HTTP client for URLs that tenants supply; it refuses addresses that are not public
    outgoing: GuardedClient
    #: sends events to registered addresses: `webhooks.send("video.finished", {...}, tenant=..., owner=...)`
    webhooks: Webhooks
    #: the object stores of the setting `object_stores`, by name
    stores: Mapping[str, AsyncObjects]
    #: the data folder of the host; `data` is the application's own folder in it
    host_data: Path
    #: the agent tools of all applications that a principal may use
    tools_for: Callable[[Principal], Sequence[OfferedTool]]
    #: the metrics of this process; `metrics` is their registry
    measured: HostMetrics = field(default_factory=HostMetrics, repr=False)
    #: objects that the application's lifespan shares with its routes, pages and handlers
    state: dict[str, Any] = field(default_factory=dict, repr=False)

    def objects_named(self, name: str) -> AsyncObjects:
        """The object store with this name in the setting `object_stores`. Raises `StoreNotConfigured`."""
        if name not in self.stores:
            known = ", ".join(sorted(self.stores)) or "none"
            raise StoreNotConfigured(f"There is no object store named {name!r}; configured: {known}.")
        return self.stores[name]

    @property
    def metrics(self) -> CollectorRegistry:
        """The registry of prometheus_client for the application's own metrics: `Counter("shop_orders", "...", registry=...)`."""
        return self.measured.registry

    @property
    def data(self) -> Path:
        """The application's own folder on this machine, created on first use. Only the user who runs the host can read it."""
        folder = self.host_data / "apps" / self.application
        make_folder(folder)
        return folder
