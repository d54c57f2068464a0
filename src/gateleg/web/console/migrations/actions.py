"""The available actions on a migration or one of its stages. Pure.

Runs the actions of a migration's buttons: a pause at once, everything else as a job.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from gateleg.host.migrations import migrations_of
from gateleg.host.principal import Role
from gateleg.jobs import Submission
from gateleg.migrate import Phase
from gateleg.migrate.migration_jobs import MIGRATION_JOB, MigrationTask, subject_of
from gateleg.migrate.migrations import pause, resume
from gateleg.migrate.moves.declaration import PHASES
from gateleg.web.console.dialogs import button, carry_out, sheet
from gateleg.web.console.forms import Field, confirm
from gateleg.web.console.markup import tag
from gateleg.web.console.migrations.labels import MEANS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.migrate import Migration, MigrationStatus
    from gateleg.web.console.frame import View
    from gateleg.web.console.migrations.labels import StageGroup
    from gateleg.web.console.migrations.topics import MigrationState


Verb = Literal["apply", "verify", "repeat", "pause", "resume", "rollback"]


@dataclass(frozen=True)
class MigrationAction:
    """A button: its action, and the target phase."""

    verb: Verb
    text: str
    phase: Phase | None = None


def available_actions(status: MigrationStatus, groups: Sequence[StageGroup], *, busy: bool, later: bool) -> list[MigrationAction]:
    """The buttons for a migration, or for some of its stages.

    `busy` means that a job is working on the application's migrations, `later` that a later migration was applied, which must be rolled
    back first.
    """
    if not status.in_code:
        return []
    begun = status.state not in ("pending", "rolled-back") and (not groups or any(group.farthest is not Phase.OFF for group in groups))
    if status.paused or any(group.paused for group in groups):
        return [MigrationAction("resume", "Resume")]
    if busy:
        return [MigrationAction("pause", "Pause")] if begun else []
    found = _forward(status, groups) + _checks(groups)
    if begun and status.state != "applied":
        found.append(MigrationAction("pause", "Pause"))
    if begun and not later:
        found.append(MigrationAction("rollback", "Roll back"))
    return found


def _forward(status: MigrationStatus, groups: Sequence[StageGroup]) -> list[MigrationAction]:
    if not groups:
        return [MigrationAction("apply", "Apply")] if status.state != "applied" else []
    least = min((group.phase for group in groups), key=PHASES.index)
    if least is Phase.CLEAN_UP:
        # Its last pass may have been interrupted.
        return [MigrationAction("apply", "Apply again", least)] if status.state in ("applying", "failed") else []
    following = PHASES[least.order + 1]
    found = [MigrationAction("apply", f"Apply {following}", following)]
    if least.order < Phase.DUAL_READ.order:
        found.append(MigrationAction("apply", "Apply all up to cut-over", Phase.CUT_OVER))
    return found


def _checks(groups: Sequence[StageGroup]) -> list[MigrationAction]:
    compared = [Phase.VERIFY.order <= group.phase.order and group.farthest.order < Phase.CLEAN_UP.order for group in groups]
    found = [MigrationAction("verify", "Verify")] if groups and all(compared) else []
    return found + ([MigrationAction("repeat", "Repeat failed items")] if any(group.failed for group in groups) else [])


def earlier(groups: Sequence[StageGroup]) -> list[Phase]:
    """The phases that stages can be rolled back to, the last one first."""
    if not groups:
        return [Phase.OFF]
    farthest = max((group.farthest for group in groups), key=PHASES.index)
    return [phase for phase in reversed(PHASES) if phase.order < farthest.order] or [Phase.OFF]


_ICONS = {
    "apply": "play_arrow",
    "verify": "fact_check",
    "repeat": "replay",
    "pause": "pause",
    "resume": "resume",
    "rollback": "undo",
}


class MigrationButtons:
    """The buttons of a migration, or of one of its stages."""

    def __init__(self, view: View, application: str, migration: Migration, stage: str | None = None) -> None:
        self._view = view
        self._application = application
        self._migration = migration
        self._stage = stage

    def key(self, current: MigrationState, groups: Sequence[StageGroup]) -> object:
        """What the buttons depend on: they are redrawn only if it changes."""
        offers = available_actions(current.status, groups, busy=current.busy, later=current.later)
        return tuple(offers), tuple(earlier(groups)), current.before

    def draw(self, current: MigrationState, groups: Sequence[StageGroup], *, small: bool = False) -> None:
        """Draw the buttons that the caller may use."""
        if not self._view.may(Role.OPERATOR):
            return
        for number, offer in enumerate(available_actions(current.status, groups, busy=current.busy, later=current.later)):
            look = "danger" if offer.verb == "rollback" else "first" if number == 0 and not small else ""
            act = partial(self._act, offer, current, groups)
            button(offer.text, act, icon=_ICONS[offer.verb], look=f"{look} small" if small else look)

    async def _act(self, offer: MigrationAction, current: MigrationState, groups: Sequence[StageGroup]) -> None:
        if offer.verb in ("pause", "resume"):
            await self._set_paused(paused=offer.verb == "pause")
            return
        phase = offer.phase
        if offer.verb == "rollback":
            phase = await self._ask_phase(groups)
            if phase is None:
                return
        elif not await self._confirmed(offer, current):
            return
        await self._submit(offer, phase)

    async def _confirmed(self, offer: MigrationAction, current: MigrationState) -> bool:
        name = self._named()
        if offer.verb != "apply":
            words = {"verify": "Both sides are read from the start.", "repeat": "The failed items are copied and compared again."}
            return await confirm(f"{offer.text}: {name}?", f"{words[offer.verb]} A worker runs it.", verb=offer.text, harmless=True)
        before = f" These are applied first: {', '.join(current.before)}." if current.before else ""
        means = "" if offer.phase is None else f" {MEANS[offer.phase]}"
        closes = offer.phase in (Phase.CLOSING, Phase.CLEAN_UP)
        typed = self._migration.name if offer.phase is Phase.CLEAN_UP else None
        text = f"A worker runs it. It can be paused and rolled back.{means}{before}"
        return await confirm(f"{offer.text}: {name}?", text, verb=offer.text, name=typed, harmless=not closes)

    async def _ask_phase(self, groups: Sequence[StageGroup]) -> Phase | None:
        """Ask for the target phase of a rollback; None to cancel."""
        choices = [(str(phase), f"{phase}: {MEANS[phase]}") for phase in earlier(groups)]
        with sheet(f"Roll back: {self._named()}?", broad=True) as dialog:
            tag("p", "A worker runs it. No data is lost: removed items are restored first.")
            wanted = Field("Back to", choices[0][0], kind="choice", choices=choices, whole=True)
            with tag("div", classes="deeds"):
                button("Cancel", lambda: dialog.submit(None))
                button("Roll back", lambda: dialog.submit(wanted.text), look="danger first")
        answer = await dialog
        dialog.delete()
        return Phase(answer) if isinstance(answer, str) else None

    async def _submit(self, offer: MigrationAction, phase: Phase | None) -> None:
        view = self._view
        task = MigrationTask.model_validate(
            {"application": self._application, "action": offer.verb, "number": self._migration.number, "phase": phase, "stage": self._stage}
        )

        async def work() -> None:
            submission = Submission(MIGRATION_JOB, task, subject=subject_of(self._application), created_by=view.principal.name)
            await view.host.queue.submit(submission)
            await self._note(offer.verb, phase)

        if await carry_out(view, Role.OPERATOR, work, "Submitted: it starts when a worker is free"):
            view.live.refresh_all()

    async def _set_paused(self, *, paused: bool) -> None:
        view, setup = self._view, self._view.host.store.setup

        async def work() -> None:
            by = view.principal.name
            if paused:
                await view.host.store.drive(pause(self._application, self._migration, by, setup, stage=self._stage))
            else:
                known = migrations_of(view.host.applications)[self._application]
                await view.host.store.drive(resume(self._application, known, self._migration, by, setup, stage=self._stage))
            await self._note("pause" if paused else "resume", None)

        done = "It stops after the current page" if paused else "Resumed: apply it again"
        if await carry_out(view, Role.OPERATOR, work, done):
            view.live.refresh_all()

    async def _note(self, verb: str, phase: Phase | None) -> None:
        details = {"phase": None if phase is None else str(phase), "stage": self._stage}
        given = {name: value for name, value in details.items() if value is not None}
        target = f"{self._application} {self._migration}"
        await self._view.host.audit.note(self._view.principal, f"migration.{verb}", target, **given)

    def _named(self) -> str:
        return str(self._migration) if self._stage is None else f"{self._migration}, {self._stage}"
