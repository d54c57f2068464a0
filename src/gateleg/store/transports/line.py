"""What the two wire transports share: everything but the waiting."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from typing import Any

from gateleg.store.transports import FOREIGN, ServiceError
from gateleg.store.transports.addresses import Address, amazon, tls_context
from gateleg.store.transports.answers import Answer, Unreadable, result
from gateleg.store.transports.credentials import Chain, Credentials, Fixed, Source, region_of_chain
from gateleg.store.transports.retries import Budget, Failure, Retries, Trial
from gateleg.store.transports.signing import Clock, Signer

#: Operations that are asked for under another name, and at Amazon of another host.
STREAMS = frozenset({"DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"})


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long to wait, in seconds. The time of a whole call is limited by the `timeout` of each call."""

    #: until a connection is made, with its TLS handshake
    connect: float = 5.0
    #: for the next bytes of an answer
    read: float = 10.0
    #: until a connection without work is given up; services close them too, and a request that meets that is lost
    idle: float = 20.0


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
    timeouts: Timeouts = Timeouts()
    retries: Retries = field(default_factory=Retries)
    #: have answers compressed: worth it over slow networks only
    gzip: bool = False


class Line:
    """Writes requests and reads answers for one service."""

    def __init__(self, options: Options, clock: Clock | None = None) -> None:
        region = options.region or region_of_chain(options.profile) or ("us-east-1" if options.endpoint else None)
        if region is None:
            raise ValueError("No region was given, and botocore's configuration names none: write dynamodb:eu-west-1, or set AWS_REGION.")
        self.region = region
        self.options = options
        self.clock = clock or Clock()
        self.source = _source(options)
        self.budget = Budget(options.retries)
        self.address = Address.parse(options.endpoint) if options.endpoint else amazon(region)
        self.streams = self.address if options.endpoint else amazon(region, "streams.dynamodb")
        self.tls = (options.tls or tls_context()) if self.address.secure else None
        self._signer = Signer(self.address, region, self.clock, gzip=options.gzip)
        self._streams_signer = Signer(self.streams, region, self.clock, target="DynamoDBStreams_20120810", gzip=options.gzip)

    def write(self, operation: str, body: bytes, credentials: Credentials) -> bytes:
        """The request as it goes over the wire."""
        signer = self._streams_signer if operation in STREAMS else self._signer
        return signer.head(operation, body, credentials) + body

    def read(self, answer: Answer) -> dict[str, Any]:
        """What the service answered, or a `Failure`."""
        try:
            return result(answer)
        except ServiceError as error:
            if error.code.startswith(FOREIGN):
                error.message = f"{self.address.url} does not speak the DynamoDB protocol: it answered with the status {answer.status}."
            date = answer.headers.get(b"date")
            raise Failure(str(error), error=error, date=date.decode("latin-1") if date is not None else None) from None
        except Unreadable as error:
            raise Failure(str(error)) from None

    def deadline(self, timeout: float | None) -> float | None:
        """When a call that begins now must be over."""
        return None if timeout is None else self.options.retries.ticks() + timeout

    def trial(self, operation: str, request: dict[str, Any], deadline: float | None) -> Trial:
        """The attempts of a call, from its first failure on."""
        return Trial(operation, request, self.options.retries, self.budget, self.clock, self.source, deadline)


def no_connection(address: Address, error: OSError) -> Failure:
    """The failure to connect. A certificate that is not trusted will not be so a moment later."""
    reason = f"No connection to {address.url}: {error or 'it took too long'}."
    return Failure(reason, sent=False, hopeless=isinstance(error, ssl.SSLCertVerificationError))


def _source(options: Options) -> Source:
    if options.credentials is None:
        return Chain(profile=options.profile, local=options.endpoint is not None)
    return Fixed(options.credentials) if isinstance(options.credentials, Credentials) else options.credentials
