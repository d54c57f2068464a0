"""`PurgeReport`: the counts that a purge returns."""

from pydantic import BaseModel, Field

#: The maximum number of failures whose messages are kept.
_MAX_FAILURES = 20


class PurgeReport(BaseModel):
    """How many items, children and objects a purge has removed."""

    #: items that were due
    due: int = 0
    #: items that were removed completely
    purged: int = 0
    #: removed children, at all levels
    children: int = 0
    #: removed objects
    objects: int = 0
    #: counts that the hooks returned, by hook name
    hooked: dict[str, int] = Field(default_factory=dict)
    #: items that were restored, or whose date changed, before or during their purge
    kept: int = 0
    #: unique values that were released after TTL had removed their items
    released: int = 0
    #: items whose purge failed
    failed: int = 0
    #: messages of the first failures
    failures: list[str] = Field(default_factory=list)

    def fail(self, what: str) -> None:
        """Count a failure."""
        self.failed += 1
        if len(self.failures) < _MAX_FAILURES:
            self.failures.append(what)

    def hook(self, name: str, removed: int | None) -> None:
        """Add the count that a hook returned."""
        self.hooked[name] = self.hooked.get(name, 0) + (removed or 0)

    def __str__(self) -> str:
        """The counts as text, such as `3 items, 12 children, 4 objects, 0 kept`."""
        counts = {"items": self.purged, "children": self.children, "objects": self.objects, **self.hooked, "kept": self.kept}
        counts |= {"failed": self.failed} if self.failed else {}
        return ", ".join(f"{number:,} {name}" for name, number in counts.items())
