"""Addresses, credentials, signatures, tokens and backoff, for all rooms that communicate with services. Imports no other room.

The HTTP client is in `gateleg.net.http`, so that an embedded store does not load the HTTP parser.
"""

from gateleg.net.aws import (
    LOCAL_CREDENTIALS,
    Chain,
    Credentials,
    CredentialSource,
    Fixed,
    JsonRequestSigner,
    NoCredentials,
    region_of_chain,
)
from gateleg.net.backoff import Backoff, Deadline, Retries, RetryBudget, ServiceClock, is_throttled, may_pass, retry_after, span
from gateleg.net.guard import Address, Guard, amazon, is_loopback, is_public
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
