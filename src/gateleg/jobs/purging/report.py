"""What a sweep has done, counted."""

from pydantic import BaseModel, Field

#: How many failures are kept with their messages.
_KEPT = 20


class PurgeReport(BaseModel):
    """How many items a sweep has removed, with what hung on them."""

    #: items that were due
    due: int = 0
    #: items that are gone, with all that hung on them
    purged: int = 0
    #: children, and theirs
    children: int = 0
    objects: int = 0
    #: what hooks have removed, by their names
    hooked: dict[str, int] = Field(default_factory=dict)
    #: items that were restored, or changed their date, before their purge began or while it went on
    kept: int = 0
    #: unique values that were released after TTL had removed their items
    released: int = 0
    failed: int = 0
    #: the first failures, in words
    failures: list[str] = Field(default_factory=list)

    def fail(self, what: str) -> None:
        """Count a failure."""
        self.failed += 1
        if len(self.failures) < _KEPT:
            self.failures.append(what)

    def hook(self, name: str, removed: int | None) -> None:
        """Count what a hook has removed."""
        self.hooked[name] = self.hooked.get(name, 0) + (removed or 0)

    def __str__(self) -> str:
        """The counts in words."""
        counts = {"items": self.purged, "children": self.children, "objects": self.objects, **self.hooked, "kept": self.kept}
        counts |= {"failed": self.failed} if self.failed else {}
        return ", ".join(f"{number:,} {name}" for name, number in counts.items())
