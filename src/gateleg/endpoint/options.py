"""Options of an endpoint."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field

from gateleg.endpoint.errors import OpenToAll
from gateleg.endpoint.limits import Limits
from gateleg.endpoint.origins import Origins
from gateleg.net import is_loopback


@dataclass(frozen=True, slots=True)
class EndpointOptions:
    """The options of a DynamoDB endpoint: address, credentials, allowed origins, TLS and limits.

    Raises `OpenToAll` for a non-loopback address without credentials, and `BadOrigin` for an invalid origin.
    """

    host: str = "127.0.0.1"
    #: 0 for any free port
    port: int = 0
    #: secrets by access key id; without any, every signature is accepted, on loopback only
    credentials: Mapping[str, str] = field(default_factory=dict)
    #: additional origins of web pages that may use the endpoint; their hosts are also accepted as host names of the endpoint
    allow_origins: tuple[str, ...] = ()
    #: separate tables for each access key id and region
    separate: bool = False
    region: str = "us-east-1"
    #: let other processes listen on the same port; the system distributes connections among them
    reuse_port: bool = False
    tls: ssl.SSLContext | None = None
    limits: Limits = field(default_factory=Limits)
    #: commit in a separate thread; the default depends on the engine's durability
    threaded_commits: bool | None = None

    def __post_init__(self) -> None:
        if not self.credentials and not is_loopback(self.host):
            raise OpenToAll(f"{self.host} is reachable from other machines, and no credentials are set.")
        self.origins()

    def origins(self) -> Origins:
        """The checks of origins and host names for these options."""
        return Origins(self.allow_origins, signed=bool(self.credentials))
