"""Plans as values: steps that a service can take, and what only a new table would change."""

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
    """One request that brings a table nearer to its declaration."""

    #: the table's name in the account
    table: str
    action: Action
    title: str
    operation: str
    request: Wire
    #: what is lost by it, to be asked about first; empty for what harms nothing
    loses: str = ""
    #: what to know about it
    note: str = ""

    def data(self) -> dict[str, Any]:
        """The step for machines."""
        members = {"action": self.action, "title": self.title, "operation": self.operation, "request": self.request}
        return members | {"loses": self.loses or None, "note": self.note or None}


@dataclass(frozen=True)
class Plan:
    """What would be done to one table."""

    table: str
    exists: bool
    steps: tuple[Step, ...] = ()
    #: differences that no request changes: they need a new table
    rebuild: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    #: about how many items the table has
    items: int = 0

    @property
    def done(self) -> bool:
        """Whether the deployed table is the declared one."""
        return not self.steps and not self.rebuild

    @property
    def state(self) -> Literal["missing", "needs a new table", "differs", "in sync"]:
        """How the table compares with its declaration, in words."""
        if not self.exists:
            return "missing"
        if self.rebuild:
            return "needs a new table"
        return "differs" if self.steps else "in sync"

    def data(self) -> dict[str, Any]:
        """The plan for machines."""
        return {
            "table": self.table,
            "state": self.state,
            "items": self.items,
            "steps": [step.data() for step in self.steps],
            "needs_new_table": list(self.rebuild),
            "notes": list(self.notes),
        }
