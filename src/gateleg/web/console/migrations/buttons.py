"""Runs the actions of a migration's buttons: a pause at once, everything else as a job."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gateleg.jobs import Submission
from gateleg.migrate import Phase
from gateleg.migrate.migration_jobs import MIGRATION_JOB, MigrationTask, subject_of
from gateleg.migrate.pauses import pause, resume
from gateleg.web.console.actions import button, carry_out
from gateleg.web.console.confirm import confirm
from gateleg.web.console.dialogs import sheet
from gateleg.web.console.fields import Field
from gateleg.web.console.markup import tag
from gateleg.web.console.migrations.actions import MigrationAction, available_actions, earlier
from gateleg.web.console.migrations.labels import MEANS
from gateleg.web.migrations import migrations_of
from gateleg.web.principal import Role

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.migrate import Migration
    from gateleg.web.console.frame import View
    from gateleg.web.console.migrations.labels import StageGroup
    from gateleg.web.console.migrations.topics import MigrationState

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
