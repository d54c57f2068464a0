"""Retry the items of a stage that could not be moved or that differ from their copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.migrate.moves import steps
from gateleg.migrate.moves.control import check_not_paused, view_of
from gateleg.migrate.moves.item_errors import repeat_errors
from gateleg.migrate.moves.phases import Phase

if TYPE_CHECKING:
    from gateleg.migrate.moves.declaration import KeyMove, MoveStage
    from gateleg.migrate.moves.steps import MoveOptions
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup

__all__ = ["repeat_failed"]


def repeat_failed(move: KeyMove, stage: MoveStage, setup: Setup, options: MoveOptions) -> Flow[int]:
    """Copy old items with missing or wrong copies again, while they are authoritative, then compare; returns how many are still wrong."""
    state = yield from check_not_paused(move, stage, setup)
    left = 0
    if state.phase in (Phase.BACKFILL, Phase.VERIFY):
        left = yield from repeat_errors(move, stage, view_of(state), setup)
    if Phase.VERIFY.order <= state.phase.order < Phase.CLEAN_UP.order:
        left = (yield from steps.verify(move, stage, setup, options)).wrong
    return left
