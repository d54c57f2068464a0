"""Where a service listens, and how to trust it."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote, urlsplit

#: The domains of Amazon's partitions, by the beginning of a region's name.
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
    """A host, a port, a path, and whether the connection is encrypted."""

    host: str
    port: int
    secure: bool
    path: str = "/"

    @classmethod
    def parse(cls, url: str) -> Address:
        """The address that a URL such as `http://localhost:8000` names."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
            raise ValueError(f"{url!r} is not an endpoint: write http://host:port or https://host")
        secure = parts.scheme == "https"
        return cls(parts.hostname, parts.port or (443 if secure else 80), secure, quote(parts.path, safe="/-_.~%") or "/")

    @property
    def authority(self) -> str:
        """The value of the `Host` header: with a port only where it is not the usual one."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == (443 if self.secure else 80) else f"{name}:{self.port}"

    @property
    def url(self) -> str:
        """The address as a URL."""
        return f"{'https' if self.secure else 'http'}://{self.authority}{self.path}"


def amazon(region: str, service: str = "dynamodb") -> Address:
    """Where Amazon's service listens in a region."""
    domain = next((domain for prefix, domain in _DOMAINS.items() if region.startswith(prefix)), "amazonaws.com")
    return Address(f"{service}.{region}.{domain}", 443, secure=True)


def tls_context(
    authorities: str | Path | None = None, *, certificate: str | Path | None = None, key: str | Path | None = None
) -> ssl.SSLContext:
    """TLS settings that verify the server.

    `authorities` is a file of the certificates to trust; by default those of the system, or botocore's own where the system has none.
    `certificate` and `key` identify the client to servers that ask for it.
    """
    context = ssl.create_default_context(cafile=authorities)
    if authorities is None and not context.cert_store_stats()["x509_ca"]:
        _trust_bundle_of_botocore(context)
    if certificate is not None:
        context.load_cert_chain(certificate, key)
    context.set_alpn_protocols(["http/1.1"])
    return context


def _trust_bundle_of_botocore(context: ssl.SSLContext) -> None:
    found = find_spec("botocore")
    if found is not None and found.origin is not None:
        bundle = Path(found.origin).with_name("cacert.pem")
        if bundle.exists():
            context.load_verify_locations(bundle)
