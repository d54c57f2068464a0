"""Addresses, credentials, signatures, tokens and backoff, for all rooms that communicate with services. Imports no other room.

The HTTP client is in `gateleg.net.http`, so that an embedded store does not load the HTTP parser.
"""

from gateleg.net.addresses import Address, amazon, is_loopback
from gateleg.net.aws_json import JsonRequestSigner
from gateleg.net.backoff import Backoff, Retries, RetryBudget, span
from gateleg.net.clocks import Deadline, ServiceClock
from gateleg.net.credentials import LOCAL_CREDENTIALS, Chain, Credentials, CredentialSource, Fixed, NoCredentials, region_of_chain
from gateleg.net.guard import Guard, is_public
from gateleg.net.throttling import is_throttled, may_pass, retry_after
from gateleg.net.tokens import BadToken, Secret, TokenExpired

__all__ = [
    "LOCAL_CREDENTIALS",
    "Address",
    "Backoff",
    "BadToken",
    "Chain",
    "CredentialSource",
    "Credentials",
    "Deadline",
    "Fixed",
    "Guard",
    "JsonRequestSigner",
    "NoCredentials",
    "Retries",
    "RetryBudget",
    "Secret",
    "ServiceClock",
    "TokenExpired",
    "amazon",
    "is_loopback",
    "is_public",
    "is_throttled",
    "may_pass",
    "region_of_chain",
    "retry_after",
    "span",
]
