"""TLS settings: which servers to trust, and client certificates."""

from __future__ import annotations

import ssl
from functools import cache
from importlib.util import find_spec
from pathlib import Path


def tls_context(
    authorities: str | Path | None = None, *, certificate: str | Path | None = None, key: str | Path | None = None
) -> ssl.SSLContext:
    """TLS settings that verify the server.

    `authorities` is a file with the certificates to trust; by default those of the system, or botocore's if the system has none.
    `certificate` and `key` are files of a client certificate, for servers that require one.
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


@cache
def default_context() -> ssl.SSLContext:
    """The default settings, cached because reading the certificates is slow."""
    return tls_context()
