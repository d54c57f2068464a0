"""How an endpoint is set up."""

import ipaddress
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field

from gateleg.endpoint.limits import Limits


class OpenToAll(ValueError):
    """The address can be reached from other machines, and no credentials are set."""


@dataclass(frozen=True, slots=True)
class Options:
    """Where to listen, whom to let in. Raises `OpenToAll` for an address off loopback without credentials."""

    host: str = "127.0.0.1"
    #: 0 takes any free port
    port: int = 0
    #: access key ids and their secrets; with none, any signature is accepted, on loopback only
    credentials: Mapping[str, str] = field(default_factory=dict)
    #: each access key id and region has its own tables
    separate: bool = False
    region: str = "us-east-1"
    tls: ssl.SSLContext | None = None
    limits: Limits = field(default_factory=Limits)
    #: commit in a thread of its own; by default as the engine's durability asks for
    threaded_commits: bool | None = None

    def __post_init__(self) -> None:
        if not self.credentials and not is_loopback(self.host):
            raise OpenToAll(f"{self.host} can be reached from other machines: set credentials, or listen on 127.0.0.1")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
