"""Pause a migration on any host: work stops after the current page or before the next step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.migrate import ledger
from gateleg.migrate.errors import MigrationRefused, Paused
from gateleg.migrate.moves.control import set_paused
from gateleg.migrate.moves.tables import MigrationRecord
from gateleg.store import NotFound
from gateleg.store.operations.reads import Find
from gateleg.store.operations.write_operation import Patch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.migrate.migrations import Migration
    from gateleg.migrate.moves.declaration import KeyMove, MoveStage
    from gateleg.model import Ref
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup

__all__ = ["check_paused", "check_stage", "pause", "resume", "stages_of"]


def stages_of(one: Migration, stage: str | None) -> list[tuple[KeyMove, MoveStage]]:
    """The stages of a migration's moves: all, or those with a name."""
    return [(move, which) for move in one.moves for which in move.stages if stage in (None, which.name)]


def check_stage(migrations: Sequence[Migration], stage: str | None) -> None:
    """Raise `MigrationRefused` if no migration has a stage with that name."""
    if stage is not None and not any(stages_of(one, stage) for one in migrations):
        names = dict.fromkeys(which.name for one in migrations for _, which in stages_of(one, None))
        raise MigrationRefused(f"There is no stage {stage!r}.", fix=f"Use one of {', '.join(names)}." if names else "Leave out the stage.")


def pause(application: str, one: Migration, by: str, setup: Setup, *, stage: str | None = None) -> Flow[None]:
    """Pause a migration, or one of its stages. Older code may do this too, because it harms nothing."""
    yield from _set(application, one, by, setup, paused=True, stage=stage)


def resume(
    application: str, migrations: Sequence[Migration], one: Migration, by: str, setup: Setup, *, stage: str | None = None
) -> Flow[None]:
    """Resume a migration; it continues when somebody applies it. Raises `CodeOlder` as `apply` does."""
    yield from ledger.check_code(application, migrations, setup)
    yield from _set(application, one, by, setup, paused=False, stage=stage)


def check_paused(application: str, one: Migration, setup: Setup) -> Flow[None]:
    """Raise `Paused` if a migration is paused."""
    record: MigrationRecord | None = yield from Find(_ref(application, one), consistent=True).flow(setup)
    if record is not None and record.paused:
        raise Paused(f"{one} is paused.")


def _set(application: str, one: Migration, by: str, setup: Setup, *, paused: bool, stage: str | None) -> Flow[None]:
    check_stage([one], stage)
    for move, which in stages_of(one, stage):
        yield from set_paused(move, which, paused, setup, by=by)
    if stage is None or not paused:
        # Resuming a stage also resumes its migration.
        try:
            yield from Patch(_ref(application, one), (MigrationRecord.paused.set(paused),), returning="none").flow(setup)
        except NotFound:
            if not one.moves:
                raise MigrationRefused(f"{one} has not begun.", fix="There is nothing to pause.") from None
    yield from ledger.log(application, one, "pause" if paused else "resume", by, setup)


def _ref(application: str, one: Migration) -> Ref[MigrationRecord]:
    return MigrationRecord.key(application=application, number=one.number)
