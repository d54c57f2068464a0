"""Plans: the steps that a service can take, and the differences that only a new table would resolve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from gateleg.migrate.shapes import Wire

Action = Literal[
    "create-table",
    "delete-table",
    "create-index",
    "delete-index",
    "change-billing",
    "change-stream",
    "change-ttl",
    "change-protection",
    "change-recovery",
    "change-tags",
]


@dataclass(frozen=True)
class Step:
    """One request on the way from the deployed table to the declared one."""

    #: the physical table name
    table: str
    action: Action
    title: str
    operation: str
    request: Wire
    #: what would be lost, to be confirmed first; empty if nothing
    loses: str = ""
    #: further information
    note: str = ""

    def data(self) -> dict[str, Any]:
        """The step as JSON data."""
        members = {"action": self.action, "title": self.title, "operation": self.operation, "request": self.request}
        return members | {"loses": self.loses or None, "note": self.note or None}


@dataclass(frozen=True)
class Plan:
    """The steps for one table."""

    table: str
    exists: bool
    steps: tuple[Step, ...] = ()
    #: differences that require a new table
    rebuild: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    #: approximate number of items
    items: int = 0

    @property
    def done(self) -> bool:
        """Whether the deployed table matches its declaration."""
        return not self.steps and not self.rebuild

    @property
    def state(self) -> Literal["missing", "needs a new table", "differs", "in sync"]:
        """How the table compares with its declaration."""
        if not self.exists:
            return "missing"
        if self.rebuild:
            return "needs a new table"
        return "differs" if self.steps else "in sync"

    def data(self) -> dict[str, Any]:
        """The plan as JSON data."""
        return {
            "table": self.table,
            "state": self.state,
            "items": self.items,
            "steps": [step.data() for step in self.steps],
            "needs_new_table": list(self.rebuild),
            "notes": list(self.notes),
        }
