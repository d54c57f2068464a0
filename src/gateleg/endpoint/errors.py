"""Errors of the options of an endpoint."""

from gateleg.errors import GatelegError


class BadOrigin(GatelegError, ValueError):
    """An allowed origin is not a valid origin."""

    fix = "Write, for example, https://example.com"


class OpenToAll(GatelegError, ValueError):
    """The address is reachable from other machines, and no credentials are set."""

    code = "endpoint-open-to-all"
    fix = "Set credentials, or listen on 127.0.0.1."
