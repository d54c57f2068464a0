"""Addresses of services."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

#: The domains of AWS partitions, by prefix of the region's name.
_DOMAINS = {
    "cn-": "amazonaws.com.cn",
    "us-isob-": "sc2s.sgov.gov",
    "us-isof-": "csp.hci.ic.gov",
    "us-iso-": "c2s.ic.gov",
    "eu-isoe-": "cloud.adc-e.uk",
    "eusc-": "amazonaws.eu",
}


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a service: host, port, path, and whether the connection is encrypted."""

    host: str
    port: int
    secure: bool
    path: str = "/"

    @classmethod
    def parse(cls, url: str) -> Address:
        """The address for a URL such as `http://localhost:8000`. Raises `ValueError` for anything else."""
        parts = urlsplit(url)
        if " " in url or parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
            raise ValueError(f"{url!r} is not an endpoint: write http://host:port or https://host")
        secure = parts.scheme == "https"
        return cls(parts.hostname, parts.port or (443 if secure else 80), secure, quote(parts.path, safe="/-_.~%") or "/")

    @property
    def authority(self) -> str:
        """The value of the `Host` header, with the port unless it is the default one."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == (443 if self.secure else 80) else f"{name}:{self.port}"

    @property
    def origin(self) -> str:
        """The URL without a path: scheme, host and port."""
        return f"{'https' if self.secure else 'http'}://{self.authority}"

    @property
    def url(self) -> str:
        """The address as a URL."""
        return f"{self.origin}{self.path}"


def amazon(region: str, service: str = "dynamodb") -> Address:
    """The address of an Amazon service in a region."""
    domain = next((domain for prefix, domain in _DOMAINS.items() if region.startswith(prefix)), "amazonaws.com")
    return Address(f"{service}.{region}.{domain}", 443, secure=True)


def is_loopback(host: str) -> bool:
    """Whether a host name or an address means this machine."""
    name = host.strip("[]").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
