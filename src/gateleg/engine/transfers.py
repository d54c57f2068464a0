"""Exports and imports as jobs: kept in the file until they are done, run one after another by whichever process claims them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import apsw
import orjson

from gateleg.engine.context import Context
from gateleg.engine.schema import Namespace

#: Seconds after which a job whose process has not finished it is taken over by another.
CLAIM_SECONDS = 900.0

#: The code and the message for a bucket that there is not.
NO_SUCH_BUCKET = (
    "S3NoSuchBucket",
    "The specified bucket does not exist (Service: Amazon S3; Status Code: 404; Error Code: NoSuchBucket)",
)

Stopped = Callable[[], bool]


class InterruptedTransfer(Exception):
    """The engine is being closed: the job is left for the next one to do."""


class FailedTransfer(Exception):
    """A job that cannot be done: DynamoDB's code and message for why, and what else its description shall say."""

    def __init__(self, code: str, message: str, **members: Any) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.members = members


@dataclass(frozen=True, slots=True)
class Transfer:
    """An export or an import: the request for it, and its description as the wire has it."""

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
    """Keep a new job."""
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
    """The latest job that was asked for with that ClientToken."""
    row = connection.execute(
        f"SELECT {_COLUMNS} FROM transfers WHERE kind = ? AND account = ? AND region = ? AND token = ? ORDER BY started DESC",
        (kind, namespace.account, namespace.region, token),
    ).fetchone()
    return _transfer(row) if row else None


def listed(connection: apsw.Connection, kind: str, namespace: Namespace, table_arn: str | None) -> list[Transfer]:
    """The jobs of a namespace, or those about one table, newest first."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM transfers WHERE kind = ? AND account = ? AND region = ? AND table_arn = coalesce(?, table_arn)",
        (kind, namespace.account, namespace.region, table_arn),
    )
    return sorted((_transfer(row) for row in rows), key=lambda transfer: transfer.arn.rpartition("/")[2], reverse=True)


def run(context: Context, stopped: Stopped) -> None:
    """Do the jobs that wait, one after another."""
    while not stopped() and (transfer := _claim(context)) is not None:
        description = dict(transfer.description)
        member = "ExportStatus" if transfer.kind == "export" else "ImportStatus"
        try:
            description |= _work(context, transfer, stopped)
            description[member] = "COMPLETED"
        except InterruptedTransfer:
            _release(context, transfer)
            return
        except FailedTransfer as failure:
            description |= {member: "FAILED", "FailureCode": failure.code, "FailureMessage": failure.message, **failure.members}
        except OSError as error:
            description |= {member: "FAILED", "FailureCode": "UNKNOWN", "FailureMessage": error.strerror or str(error)}
        description["EndTime"] = context.now()
        with context.database.write() as connection:
            connection.execute("UPDATE transfers SET pending = 0, description = ? WHERE arn = ?", (orjson.dumps(description), transfer.arn))


def _work(context: Context, transfer: Transfer, stopped: Stopped) -> dict[str, Any]:
    """Do one job; what its description says once it is done."""
    from gateleg.engine import exporting, importing

    return exporting.export(context, transfer, stopped) if transfer.kind == "export" else importing.load(context, transfer, stopped)


def _claim(context: Context) -> Transfer | None:
    now = context.now()
    with context.database.write() as connection:
        row = connection.execute(
            f"SELECT {_COLUMNS} FROM transfers WHERE pending AND claimed <= ? ORDER BY started, arn LIMIT 1", (now,)
        ).fetchone()
        if row is None:
            return None
        connection.execute("UPDATE transfers SET claimed = ? WHERE arn = ?", (now + CLAIM_SECONDS, row[0]))
    return _transfer(row)


def _release(context: Context, transfer: Transfer) -> None:
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
