"""Findings of the linter: the rule, the place, the problem, the reason and the fix."""

from dataclasses import dataclass

#: Why each rule exists, by code.
WHY = {
    "coarse-partition": "An argument of a pattern applies to every part of the key that contains it, so it fixes the sort key "
    "along with the partition.",
    "constant-local-index": "A local index orders the items of one partition. If they all have the same sort key, the index orders "
    "nothing, but every write to it costs write units.",
    "expired-still-counted": "Only writes of programs update counters and markers. DynamoDB deletes expired items without updating them.",
    "expiry-not-ttl": "DynamoDB deletes expired items only by a number of epoch seconds and silently ignores other types.",
    "filtered-pattern": "A filter drops items after they were read and paid for, so pages contain fewer items than their limit.",
    "hot-partition": "One partition serves at most 3,000 read and 1,000 write units a second, however large the table is.",
    "legacy-not-indexed": "An index contains only items that have its key attributes. Items that are older than the index are in the table "
    "only.",
    "number-as-text": "Text sorts character by character: 10 comes before 9.",
    "partial-index": "Attributes that an index does not project are read from the table, item by item, which costs more than the query.",
    "s3-key-as-text": "A presigned URL that is stored as a key expires, and is a secret until then.",
    "tag-not-projected": "If an index does not project the tag, the entities of its items cannot be told apart.",
    "time-as-text": "Times sort as text only if all have the same format, width and time zone.",
    "time-not-sorted": "Text sorts character by character: 02.01.2024 comes before 31.12.2023.",
    "time-partition": "All new items go to one partition, which serves at most 1,000 write units a second.",
    "twin-index": "Two indexes with the same key contain the same items in the same order, and each write pays for both.",
    "unbounded-list": "An item can have at most 400 KB, and every change of a list rewrites and pays for the whole item.",
    "unused-index": "Each write to an index costs write units, whether or not the index is queried.",
    "unwritten-index": "Every query of an index without items returns nothing.",
}


@dataclass(frozen=True)
class Finding:
    """A finding of the linter: the rule's stable `code`, `where` it applies, the problem (`message`) and the `fix`."""

    code: str
    where: str
    message: str
    fix: str

    @property
    def why(self) -> str:
        """The reason for the rule."""
        return WHY[self.code]
