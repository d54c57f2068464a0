"""What the two HTTP transports share: everything but the waiting."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gateleg.net import (
    Address,
    Chain,
    Credentials,
    Deadline,
    Fixed,
    JsonRequestSigner,
    NoCredentials,
    Retries,
    RetryBudget,
    ServiceClock,
    Source,
    amazon,
    region_of_chain,
)
from gateleg.net.http import Response, Timeouts
from gateleg.store.transports import FOREIGN, ServiceError, missing_credentials
from gateleg.store.transports.answers import result
from gateleg.store.transports.retries import CallAttempts, Refused

if TYPE_CHECKING:
    import ssl

#: Operations that are asked for under another name, and at Amazon of another host.
STREAMS = frozenset({"DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"})


@dataclass(frozen=True)
class Options:
    """Where the service is, who is asking, and how patient to be.

    Without `endpoint` it is Amazon DynamoDB in `region`, which by default is that of botocore's configuration. Without `credentials` they
    are found where botocore looks for them; an endpoint of your own for which there are none is taken for one that needs none.
    """

    endpoint: str | None = None
    region: str | None = None
    credentials: Credentials | Source | None = None
    #: a section of the AWS configuration files
    profile: str | None = None
    #: see `tls_context`
    tls: ssl.SSLContext | None = None
    #: the time of a whole call is limited by the `timeout` of each call
    timeouts: Timeouts = field(default_factory=Timeouts)
    retries: Retries = field(default_factory=Retries)
    #: have answers compressed: worth it over slow networks only
    gzip: bool = False


class ProtocolClient:
    """Writes requests and reads answers for one service."""

    def __init__(self, options: Options, clock: ServiceClock | None = None) -> None:
        region = options.region or region_of_chain(options.profile) or ("us-east-1" if options.endpoint else None)
        if region is None:
            raise ValueError("No region was given, and botocore's configuration names none: write dynamodb:eu-west-1, or set AWS_REGION.")
        self.options = options
        self.clock = clock or ServiceClock()
        self.source = _source(options)
        self.budget = RetryBudget(options.retries)
        self.address = Address.parse(options.endpoint) if options.endpoint else amazon(region)
        self.streams = self.address if options.endpoint else amazon(region, "streams.dynamodb")
        self._signer, self._streams_signer = (
            JsonRequestSigner(address, "dynamodb", region, self.clock, target=target, gzip=options.gzip)
            for address, target in ((self.address, "DynamoDB_20120810"), (self.streams, "DynamoDBStreams_20120810"))
        )

    def load_credentials(self) -> Credentials:
        """The credentials, however long it takes to get them."""
        try:
            return self.source.load()
        except NoCredentials as error:
            raise missing_credentials(str(error)) from None

    def write(self, operation: str, body: bytes, credentials: Credentials) -> bytes:
        """The request as it goes over the wire."""
        signer = self._streams_signer if operation in STREAMS else self._signer
        return signer.head(operation, body, credentials) + body

    def read(self, answer: Response) -> dict[str, Any]:
        """What the service answered. Raises `Refused`, or `BadResponse` for what is not an answer of DynamoDB."""
        try:
            return result(answer)
        except ServiceError as error:
            if error.code.startswith(FOREIGN):
                error.message = f"{self.address.url} does not speak the DynamoDB protocol: it answered with the status {answer.status}."
            date = answer.headers.get(b"date")
            raise Refused(error, date.decode("latin-1") if date is not None else None) from None

    def deadline(self, timeout: float | None) -> Deadline | None:
        """When a call that begins now must be over."""
        return None if timeout is None else Deadline.after(timeout, self.options.retries.ticks)

    def attempts(self, operation: str, request: dict[str, Any], deadline: Deadline | None) -> CallAttempts:
        """The attempts of a call, from its first failure on."""
        return CallAttempts(operation, request, self.options.retries, self.budget, self.clock, self.source, deadline)


def _source(options: Options) -> Source:
    if options.credentials is None:
        return Chain(profile=options.profile, local=options.endpoint is not None)
    return Fixed(options.credentials) if isinstance(options.credentials, Credentials) else options.credentials
