"""The declaration of a move: old items, new items, and the pure functions between them.

The phases of a move, in order, and what clients may do in each. Adjacent phases are compatible: while some processes see one and some
the other, no write is lost and nobody reads a wrong item (see `docs/why/migrations.md`).
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from gateleg.migrate.errors import BadMove
from gateleg.model import spec_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import BaseModel

    from gateleg.model import Query, Ref

__all__ = ["PHASES"]


_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_SHARES = 10_000


@dataclass(frozen=True)
class MoveStage:
    """Partitions of the old table that are moved together: those of certain tenants, or a share of all."""

    name: str = "all"
    #: values of the old table's hash key; all partitions if neither these nor a share is given
    partitions: frozenset[str] = frozenset()
    #: a share of all partitions in percent, chosen by a hash of their key
    percent: float | None = None

    @classmethod
    def tenants(cls, name: str, *partitions: str) -> MoveStage:
        """The partitions of these hash keys: `MoveStage.tenants("pilot", "acme-prod")`."""
        return cls(name, frozenset(partitions))

    @classmethod
    def share(cls, name: str, percent: float) -> MoveStage:
        """A percentage of the partitions: `MoveStage.share("tenth", 10)`."""
        return cls(name, percent=percent)

    @property
    def everything(self) -> bool:
        """Whether it takes everything that no earlier stage has."""
        return not self.partitions and self.percent is None

    def holds(self, partition: str) -> bool:
        """Whether a partition belongs to it."""
        if self.everything or partition in self.partitions:
            return True
        if self.percent is None:
            return False
        digest = hashlib.sha256(partition.encode()).digest()
        return int.from_bytes(digest[:8], "big") % _SHARES < self.percent * _SHARES / 100


@dataclass(frozen=True, eq=False)
class KeyMove:
    """Declares that items of one entity become items of another, with another key or in another table.

    `convert(old)` gives the new item, or None for an old item that this move leaves alone; with a `lookup`, `convert(old, parent)`.
    `revert(new)` gives the old item back. Both are pure. Together they lose nothing but the attributes that `old_only` and `new_only`
    name, by their names on the wire; those stay as they are when the other side is written. Both laws are checked for every item.
    """

    #: name in the ledger and on the command line
    name: str
    old: type[BaseModel]
    new: type[BaseModel]
    convert: Callable[..., BaseModel | None]
    revert: Callable[[Any], BaseModel]
    #: from the components of a new key to those of the old one, so that new items can be read before they are copied
    old_key: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None
    #: patterns of the new entity, with the queries of the old entity that answer them until all items are copied
    patterns: Mapping[str, Callable[[Query[Any]], Query[Any]]] = field(default_factory=dict)
    #: the parent that `convert` needs; old items without it are reported as orphans and stay where they are
    lookup: Callable[[Any], Ref[Any]] | None = None
    #: stages, moved one after another; the last one takes the rest
    stages: tuple[MoveStage, ...] = (MoveStage(),)
    old_only: frozenset[str] = frozenset()
    new_only: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Validate the declaration."""
        if not _NAME.fullmatch(self.name):
            raise BadMove(f"{self.name!r} cannot be the name of a move: lower-case letters, digits, - and _, up to 64.")
        if self.old is self.new:
            raise BadMove(f"{self.name} moves {self.old.__name__} to itself.", fix="Declare the new layout as another entity.")
        names = [stage.name for stage in self.stages]
        if not names or len(set(names)) != len(names) or any(not _NAME.fullmatch(name) for name in names):
            raise BadMove(f"The stages of {self.name} need distinct names: {', '.join(names) or 'there are none'}.")
        if not self.stages[-1].everything:
            raise BadMove(f"The last stage of {self.name} leaves partitions out.", fix="Let the last stage be MoveStage('rest').")
        for kept, entity in ((self.old_only, self.old), (self.new_only, self.new)):
            keys = kept & set(spec_of(entity).table.attributes)
            if keys:
                raise BadMove(f"{', '.join(sorted(keys))} is the key of {entity.__name__} and cannot be left out of {self.name}.")

    @property
    def state_key(self) -> str:
        """The key of its state: moves of two applications may have the same name, but not the same old table."""
        return f"{self.name}.{spec_of(self.old).table.name}"

    def stage_of(self, partition: str) -> MoveStage:
        """The stage of a partition of the old table."""
        return next(stage for stage in self.stages if stage.holds(partition))


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
