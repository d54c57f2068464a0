"""The partition of a tenant: a platform and a business on it."""

from __future__ import annotations

import re
import unicodedata

from gateleg.apps.agents.errors import BadPartition
from gateleg.model import KeyPart, same_as

__all__ = ["MAX_NAME_LENGTH", "Partition", "check_name"]

#: Maximum characters of an endpoint_id or part_id; the two and a thread id fit DynamoDB's 2,048-byte hash key.
MAX_NAME_LENGTH = 128
_DELIMITER = "#"
#: Names that need no further check. This fast path matters: decoding an item validates two names.
_SIMPLE_NAME = re.compile(rf"[A-Za-z0-9._:/-]{{1,{MAX_NAME_LENGTH}}}")


class Partition(KeyPart, template="{endpoint_id}#{part_id}"):
    """A platform (`endpoint_id`) and a business on it (`part_id`). `str(partition)` is the `partition_key`.

    Both parts are validated whenever a partition is built or parsed.
    """

    #: the platform
    endpoint_id: str
    #: the business; defaults to the endpoint
    part_id: str = same_as("endpoint_id")

    def __post_init__(self) -> None:
        """Validate both parts, so that no two tenants can collide or look alike."""
        check_name("endpoint_id", self.endpoint_id)
        if isinstance(self.part_id, str) and self.part_id:
            check_name("part_id", self.part_id)
        super().__post_init__()

    @property
    def partition_key(self) -> str:
        """The composite key: `endpoint_id#part_id`."""
        return str(self)


def check_name(field: str, value: object) -> None:
    """Raise `BadPartition`, naming the field, for an endpoint_id or part_id that cannot be part of a partition key."""
    problem = _problem(value)
    if problem is not None:
        raise BadPartition(f"{field} {problem}.", details={"field": field})


def _problem(value: object) -> str | None:
    if not isinstance(value, str):
        return "must be text"
    if _SIMPLE_NAME.fullmatch(value):
        return None
    if not value:
        return "is empty"
    if len(value) > MAX_NAME_LENGTH:
        return f"has {len(value):,} characters; the limit is {MAX_NAME_LENGTH}"
    if _DELIMITER in value:
        return f"contains {_DELIMITER!r}, which separates the parts of a partition key"
    # Cc control, Cf format (invisible), Cs surrogates, Co private, Cn unassigned; Zl and Zp end lines.
    if any(unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"} for character in value):
        return "contains a character that is not visible"
    if value != value.strip():
        return "begins or ends with a space"
    if not unicodedata.is_normalized("NFC", value):
        return "is not in Unicode's composed form (NFC)"
    return None
