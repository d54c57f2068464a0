"""The phases of a move, in order, and what clients may do in each. Adjacent phases are compatible: while some processes see one and some
the other, no write is lost and nobody reads a wrong item (see `docs/why/migrations.md`)."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["PHASES"]


class Phase(StrEnum):
    """The phase of a stage."""

    #: only old items are written; the new table need not exist
    OFF = "off"
    #: both items are written, in one transaction
    DUAL_WRITE = "dual-write"
    #: stored items are being copied
    BACKFILL = "backfill"
    #: copies are being compared
    VERIFY = "verify"
    #: new items are complete, and clients of the new entity read them; a share of reads compares both
    DUAL_READ = "dual-read"
    #: new items are authoritative; old ones are still written, so that a rollback is possible
    CUT_OVER = "cut-over"
    #: clients of the old entity are refused; old items are still written
    CLOSING = "closing"
    #: only new items are written; old ones are deleted
    CLEAN_UP = "clean-up"

    @property
    def writes_both(self) -> bool:
        """Whether every write goes to both items."""
        return Phase.OFF.order < self.order < Phase.CLEAN_UP.order

    @property
    def complete(self) -> bool:
        """Whether every item has its copy, so that the new entity can be queried."""
        return self.order >= Phase.DUAL_READ.order

    @property
    def takes_old(self) -> bool:
        """Whether clients of the old entity are served."""
        return self.order < Phase.CLOSING.order

    @property
    def order(self) -> int:
        """Its position in the order of phases."""
        return PHASES.index(self)


PHASES = tuple(Phase)


def are_adjacent(one: Phase, other: Phase) -> bool:
    """Whether a stage may go directly from one phase to the other."""
    return abs(one.order - other.order) == 1


def phases_between(start: Phase, end: Phase) -> tuple[Phase, ...]:
    """The phases from `start` (exclusive) to `end`, in order."""
    step = 1 if end.order >= start.order else -1
    return tuple(PHASES[number] for number in range(start.order + step, end.order + step, step))
