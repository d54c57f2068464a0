"""The host: what runs applications, over HTTP or without it.

    settings = load_settings(environ=os.environ)
    async with Host.open(settings, applications) as host:
        ...

An `Application` says what it brings; a `Host` opens the store, the queue and the objects, and gives every application its `Resources`.
Workers and commands use a host as it is; `gateleg.web` serves it over HTTP. Nothing here knows HTTP or the console.

`Host` is imported from `gateleg.host.host` and `load_settings` from `gateleg.host.settings`, so that applications that only declare
themselves do not load the queue.
"""

from gateleg.host.application import (
    AgentTool,
    Application,
    Check,
    CheckResult,
    Event,
    EventRoute,
    Found,
    Listener,
    OfferedTool,
    SearchHit,
    Surface,
    Tile,
)
from gateleg.host.errors import Refusal
from gateleg.host.principal import LOCAL, Principal, Role, submitted_by
from gateleg.host.resources import Resources

__all__ = [
    "LOCAL",
    "AgentTool",
    "Application",
    "Check",
    "CheckResult",
    "Event",
    "EventRoute",
    "Found",
    "Listener",
    "OfferedTool",
    "Principal",
    "Refusal",
    "Resources",
    "Role",
    "SearchHit",
    "Surface",
    "Tile",
    "submitted_by",
]
