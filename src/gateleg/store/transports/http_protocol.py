"""The DynamoDB protocol over HTTP, without I/O: shared by the sync and the async transport."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gateleg.net import (
    Address,
    Chain,
    Credentials,
    CredentialSource,
    Deadline,
    Fixed,
    JsonRequestSigner,
    NoCredentials,
    Retries,
    RetryBudget,
    ServiceClock,
    amazon,
    region_of_chain,
)
from gateleg.net.http import Response, Timeouts
from gateleg.store.errors import BadAddress
from gateleg.store.observing.redaction import shown_address
from gateleg.store.transports import FOREIGN, ServiceError, missing_credentials
from gateleg.store.transports.responses import result
from gateleg.store.transports.retries import CallAttempts, ErrorResponse

if TYPE_CHECKING:
    import ssl

#: Operations with another service name in `X-Amz-Target`, which Amazon serves on another host.
STREAMS = frozenset({"DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"})


@dataclass(frozen=True)
class HttpOptions:
    """The address of the service, credentials, timeouts and retries.

    Without `endpoint`, the service is Amazon DynamoDB in `region`, by default the region of botocore's configuration. Without
    `credentials`, they are loaded from the places where botocore looks. If there are none, requests to an `endpoint` use placeholders.
    """

    endpoint: str | None = None
    region: str | None = None
    credentials: Credentials | CredentialSource | None = None
    #: a profile of the AWS configuration files
    profile: str | None = None
    #: see `tls_context`
    tls: ssl.SSLContext | None = None
    #: for single attempts; the `timeout` of a call limits the call with its retries
    timeouts: Timeouts = field(default_factory=Timeouts)
    retries: Retries = field(default_factory=Retries)
    #: request compressed responses, which helps only over slow networks
    gzip: bool = False


class ProtocolClient:
    """Writes requests to one service, and reads its responses."""

    def __init__(self, options: HttpOptions, clock: ServiceClock | None = None) -> None:
        region = options.region or region_of_chain(options.profile) or ("us-east-1" if options.endpoint else None)
        if region is None:
            raise BadAddress(
                "No region was passed, and botocore's configuration has none.", fix="Write dynamodb:eu-west-1, or set AWS_REGION."
            )
        self.options = options
        self.clock = clock or ServiceClock()
        self.source = _source(options)
        self.budget = RetryBudget(options.retries)
        self.address = _address(options.endpoint) if options.endpoint else amazon(region)
        self.streams = self.address if options.endpoint else amazon(region, "streams.dynamodb")
        self._signer, self._streams_signer = (
            JsonRequestSigner(address, "dynamodb", region, self.clock, target=target, gzip=options.gzip)
            for address, target in ((self.address, "DynamoDB_20120810"), (self.streams, "DynamoDBStreams_20120810"))
        )

    def load_credentials(self) -> Credentials:
        """Load the credentials, which may block."""
        try:
            return self.source.load()
        except NoCredentials as error:
            raise missing_credentials(error.public_text) from None

    def write(self, operation: str, body: bytes, credentials: Credentials) -> bytes:
        """The bytes of a signed request."""
        signer = self._streams_signer if operation in STREAMS else self._signer
        return signer.head(operation, body, credentials) + body

    def read(self, response: Response) -> dict[str, Any]:
        """The content of a response. Raises `ErrorResponse` for an error, and `BadResponse` for a response that is not DynamoDB's."""
        try:
            return result(response)
        except ServiceError as error:
            if error.code.startswith(FOREIGN):
                error.message = f"{self.address.url} does not speak the DynamoDB protocol: it answered with the status {response.status}."
            date = response.headers.get(b"date")
            raise ErrorResponse(error, date.decode("latin-1") if date is not None else None) from None

    def deadline(self, timeout: float | None) -> Deadline | None:
        """The deadline of a call that begins now."""
        return None if timeout is None else Deadline.after(timeout, self.options.retries.ticks)

    def attempts(self, operation: str, request: dict[str, Any], deadline: Deadline | None) -> CallAttempts:
        """The retry state of a call, created after its first failure."""
        return CallAttempts(operation, request, self.options.retries, self.budget, self.clock, self.source, deadline)


def _address(endpoint: str) -> Address:
    try:
        if "@" in endpoint:
            # A user and a password, even where a slash in the password makes them a part of the path.
            raise ValueError("an endpoint takes no user")
        return Address.parse(endpoint)
    except ValueError:
        fix = "Write http://host:port or https://host, with a port from 1 to 65535."
        raise BadAddress(f"{shown_address(endpoint)!r} is not the address of an endpoint.", fix=fix) from None


def _source(options: HttpOptions) -> CredentialSource:
    if options.credentials is None:
        return Chain(profile=options.profile, local=options.endpoint is not None)
    return Fixed(options.credentials) if isinstance(options.credentials, Credentials) else options.credentials
