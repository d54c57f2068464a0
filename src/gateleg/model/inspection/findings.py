"""Findings of the linter: the rule, the place, the problem, why it matters and what to do."""

from dataclasses import dataclass

#: What each rule is about, by its code.
WHY = {
    "coarse-partition": "An argument of a pattern fixes every part of the key that it is in, so the sort key is fixed with the partition.",
    "constant-local-index": "A local index orders the items of one partition. A sort key that they all share does not order them, "
    "and every write to the index costs write units.",
    "expired-still-counted": "Counters and unique values follow the writes of programs; the service deletes expired items without them.",
    "expiry-not-ttl": "DynamoDB deletes expired items only by a number of epoch seconds; other forms are silently ignored.",
    "filtered-pattern": "A filter drops items after they were read and paid for, and pages come out short.",
    "hot-partition": "One partition serves at most 3,000 read and 1,000 write units a second, however large the table is.",
    "legacy-not-indexed": "An index holds only items that have its key attributes; items from before the index are only in the table.",
    "number-as-text": "Text sorts character by character: 10 comes before 9.",
    "partial-index": "What an index does not project must be read from the table, item by item, which costs more than the query.",
    "s3-key-as-text": "A presigned URL that is stored as a key expires, and is a secret until then.",
    "tag-not-projected": "The entities of items in an index that does not hold the tag cannot be distinguished.",
    "time-as-text": "Times sort as text only when all have one form, one width and one zone.",
    "time-not-sorted": "Text sorts character by character: 02.01.2024 comes before 31.12.2023.",
    "time-partition": "All new items go to one partition, which serves at most 1,000 write units a second.",
    "twin-index": "Two indexes with one key hold the same items in the same order, and each write pays for both.",
    "unbounded-list": "An item has at most 400 KB, and every change of a list rewrites and pays for the whole item.",
    "unused-index": "Each write to an index costs write units, whether or not the index is queried.",
    "unwritten-index": "A query of an index without items finds nothing.",
}


@dataclass(frozen=True)
class Finding:
    """One remark: a stable code, where, what, and what to do."""

    code: str
    where: str
    message: str
    fix: str

    @property
    def why(self) -> str:
        """Why the rule exists."""
        return WHY[self.code]
