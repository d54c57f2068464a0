"""The HTTP host: authentication, one error envelope, server-sent events, the APIs of the kit, and the console.

    settings = load_settings(environ=os.environ)
    async with Host.open(settings, applications) as host:
        app = create_app(host)                          an ASGI application for uvicorn

`Host` and `create_app` are imported from `gateleg.web.host` and `gateleg.web.app`, so that applications that only declare themselves
do not load the web framework.
"""

from gateleg.web.application import Application
from gateleg.web.contributions import AgentTool, Check, CheckResult, Event, EventRoute, Found, Listener, OfferedTool, Surface, Tile
from gateleg.web.errors import Refusal
from gateleg.web.principal import LOCAL, Principal, Role, submitted_by
from gateleg.web.resources import Resources

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
    "Surface",
    "Tile",
    "submitted_by",
]
