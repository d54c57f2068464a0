"""The HTTP host: who calls, one error envelope, server-sent events, the APIs of the kit, and the console."""

from gateleg.web.application import Application, Resources
from gateleg.web.principal import LOCAL, Principal, Role

__all__ = ["LOCAL", "Application", "Principal", "Resources", "Role"]
