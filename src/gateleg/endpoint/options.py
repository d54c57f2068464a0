"""Options of an endpoint."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field

from gateleg.endpoint.hosts import is_loopback
from gateleg.endpoint.limits import Limits
from gateleg.endpoint.origins import Origins


class OpenToAll(ValueError):
    """The address can be reached from other machines, and no credentials are set."""


@dataclass(frozen=True, slots=True)
class EndpointOptions:
    """Where to listen, whom to let in.

    Raises `OpenToAll` for an address off loopback without credentials, and `BadOrigin` for one to be allowed that is none.
    """

    host: str = "127.0.0.1"
    #: 0 takes any free port
    port: int = 0
    #: access key ids and their secrets; with none, any signature is accepted, on loopback only
    credentials: Mapping[str, str] = field(default_factory=dict)
    #: origins of web pages that may use the endpoint besides those of this machine; their hosts may also be names of the endpoint
    allow_origins: tuple[str, ...] = ()
    #: each access key id and region has its own tables
    separate: bool = False
    region: str = "us-east-1"
    #: other processes may listen on the same port; the system gives each a share of the connections
    reuse_port: bool = False
    tls: ssl.SSLContext | None = None
    limits: Limits = field(default_factory=Limits)
    #: commit in a thread of its own; by default as the engine's durability asks for
    threaded_commits: bool | None = None

    def __post_init__(self) -> None:
        if not self.credentials and not is_loopback(self.host):
            raise OpenToAll(f"{self.host} can be reached from other machines: set credentials, or listen on 127.0.0.1")
        self.origins()

    def origins(self) -> Origins:
        """What decides on the origins of requests."""
        return Origins(self.allow_origins, signed=bool(self.credentials))
