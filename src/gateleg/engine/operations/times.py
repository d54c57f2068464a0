"""Times as DynamoDB formats them in messages and manifests."""

from datetime import UTC, datetime


def iso_seconds(at: float) -> str:
    """A time to the second: `2026-10-08T23:16:33Z`."""
    return datetime.fromtimestamp(int(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def iso_milliseconds(at: float) -> str:
    """A time to the millisecond: `2026-10-08T23:16:33.028Z`."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
