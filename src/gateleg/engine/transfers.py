"""Exports and imports as jobs, stored in the file until they are done, and run by the process that claims them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import apsw
import orjson

from gateleg.engine.context import Context
from gateleg.engine.schema import Namespace

#: When a job is taken over from a process that has not finished it.
CLAIM_SECONDS = 900.0

#: Code and message for a missing bucket.
NO_SUCH_BUCKET = (
    "S3NoSuchBucket",
    "The specified bucket does not exist (Service: Amazon S3; Status Code: 404; Error Code: NoSuchBucket)",
)

IsStopped = Callable[[], bool]


class InterruptedTransfer(Exception):
    """The engine is closing: the job is left for the next process."""


class FailedTransfer(Exception):
    """A job that failed: DynamoDB's code and message, and further members of its description."""

    def __init__(self, code: str, message: str, **members: Any) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.members = members


@dataclass(frozen=True, slots=True)
class Transfer:
    """An export or import: its request, and its description in wire form."""

    arn: str
    kind: str
    namespace: Namespace
    table_arn: str
    table_uuid: str
    started: float
    request: dict[str, Any]
    description: dict[str, Any]
    token: str | None = None
    digest: bytes = field(default=b"")
    pending: bool = True


_COLUMNS = "arn, kind, account, region, table_arn, table_uuid, started, request, description, token, digest, pending"


def add(connection: apsw.Connection, transfer: Transfer) -> None:
    """Store a new job."""
    connection.execute(
        f"INSERT INTO transfers({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)",
        (
            transfer.arn,
            transfer.kind,
            transfer.namespace.account,
            transfer.namespace.region,
            transfer.table_arn,
            transfer.table_uuid,
            transfer.started,
            orjson.dumps(transfer.request),
            orjson.dumps(transfer.description),
            transfer.token,
            transfer.digest,
        ),
    )


def find(connection: apsw.Connection, arn: str) -> Transfer | None:
    """The job with that ARN."""
    row = connection.execute(f"SELECT {_COLUMNS} FROM transfers WHERE arn = ?", (arn,)).fetchone()
    return _transfer(row) if row else None


def by_token(connection: apsw.Connection, kind: str, namespace: Namespace, token: str) -> Transfer | None:
    """The latest job that was requested with that ClientToken."""
    row = connection.execute(
        f"SELECT {_COLUMNS} FROM transfers WHERE kind = ? AND account = ? AND region = ? AND token = ? ORDER BY started DESC",
        (kind, namespace.account, namespace.region, token),
    ).fetchone()
    return _transfer(row) if row else None


def list_transfers(connection: apsw.Connection, kind: str, namespace: Namespace, table_arn: str | None) -> list[Transfer]:
    """The jobs of a namespace, or of one table, newest first."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM transfers WHERE kind = ? AND account = ? AND region = ? AND table_arn = coalesce(?, table_arn)",
        (kind, namespace.account, namespace.region, table_arn),
    )
    return sorted((_transfer(row) for row in rows), key=lambda transfer: transfer.arn.rpartition("/")[2], reverse=True)


def claim(context: Context) -> Transfer | None:
    """Claim the oldest pending job, so that no other process runs it; None if there is none."""
    now = context.now()
    with context.database.write() as connection:
        row = connection.execute(
            f"SELECT {_COLUMNS} FROM transfers WHERE pending AND claimed <= ? ORDER BY started, arn LIMIT 1", (now,)
        ).fetchone()
        if row is None:
            return None
        connection.execute("UPDATE transfers SET claimed = ? WHERE arn = ?", (now + CLAIM_SECONDS, row[0]))
    return _transfer(row)


def finish(context: Context, transfer: Transfer, description: dict[str, Any]) -> None:
    """Store the final description of a job that has ended."""
    with context.database.write() as connection:
        connection.execute("UPDATE transfers SET pending = 0, description = ? WHERE arn = ?", (orjson.dumps(description), transfer.arn))


def release(context: Context, transfer: Transfer) -> None:
    """Return a claimed job, for the next process."""
    with context.database.write() as connection:
        connection.execute("UPDATE transfers SET claimed = 0 WHERE arn = ?", (transfer.arn,))


def _transfer(row: tuple[Any, ...]) -> Transfer:
    arn, kind, account, region, table_arn, table_uuid, started, request, description, token, digest, pending = row
    return Transfer(
        arn,
        kind,
        Namespace(account, region),
        table_arn,
        table_uuid,
        started,
        orjson.loads(request),
        orjson.loads(description),
        token,
        digest,
        bool(pending),
    )
