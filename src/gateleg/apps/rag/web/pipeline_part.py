"""The Pipelines tab of a collection: its pipelines with their last results and actions, and a form for a new one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Literal

from nicegui import ui
from pydantic import BaseModel, Field

from gateleg.apps.rag.access import Action
from gateleg.apps.rag.collections import update_collection
from gateleg.apps.rag.drafts import CollectionChanges, PipelineDraft
from gateleg.apps.rag.pipelines.job_types import PipelineConfig, PipelineResult
from gateleg.apps.rag.pipelines.matching import cron_of
from gateleg.apps.rag.pipelines.run import state_of
from gateleg.apps.rag.pipelines.schedules import start_run, sync_schedules
from gateleg.apps.rag.web.visit import do
from gateleg.jobs import JobStatus, follow_async
from gateleg.web.console.components import ModelForm, ago, badge, button, confirm, empty, section, tag, trouble
from gateleg.web.console.member_jobs import jobs_address

if TYPE_CHECKING:
    from gateleg.apps.rag.tables import Pipeline, PipelineState
    from gateleg.apps.rag.web.visit import Visit
    from gateleg.jobs import Job
    from gateleg.web.console.components import Tag

#: Seconds for which the page waits for a run; longer runs are followed on the page of the job.
_WAIT_SECONDS = 60.0


class PipelineForm(BaseModel):
    """The form for a new pipeline."""

    bucket: str = Field(default="", title="Object store", description="the name of a store in object_stores of the host's settings")
    prefix: str = Field(default="", title="Prefix", description="the beginning of the keys to include, such as legal/")
    folder: str = Field(default="", title="Or a folder of the host", description="one of pipeline_folders, or a subfolder")
    trigger: Literal["event", "schedule", "daily"] = Field(default="event", title="Trigger", description="event: every minute")
    cron: str = Field(default="", title="Cron expression", description="for trigger schedule; daily at midnight when empty")
    timezone: str = Field(default="", title="Time zone", description="UTC when empty")
    include: list[str] = Field(default_factory=list, title="Include", description="patterns such as *.pdf, one per line; all when empty")
    exclude: list[str] = Field(default_factory=list, title="Exclude", description="patterns, one per line")
    auto_remove: bool = Field(default=True, title="Remove documents whose objects are gone")

    def draft(self) -> PipelineDraft:
        """The pipeline as a request."""
        return PipelineDraft(
            s3_bucket=self.bucket,
            s3_prefix=self.prefix,
            folder=self.folder or None,
            trigger=self.trigger,
            cron=self.cron or None,
            timezone=self.timezone or None,
            include=self.include,
            exclude=self.exclude,
            auto_remove=self.auto_remove,
        )


async def pipeline_part(visit: Visit) -> None:
    """Show the collection's pipelines, if the viewer may change them."""
    opened = visit.opened
    may = visit.caller.may(Action.CHANGE_PIPELINES, opened.repository) and visit.caller.may(
        Action.CHANGE_COLLECTION, opened.repository, opened.collection
    )
    pipelines = opened.collection.pipelines or []
    with section("Pipelines"):
        if not may:
            reason = visit.caller.decide(Action.CHANGE_PIPELINES, opened.repository).reason
            empty("box", "Pipelines ingest documents automatically", f"Only people who may change them can see them: {reason}.")
            return
        for one in pipelines:
            await _card(visit, one)
        if not pipelines:
            empty("box", "No pipelines yet", "A pipeline keeps the collection in step with a prefix of an object store, or with a folder.")
        others = [one for one in opened.repository.config.pipelines or () if one.collection_id in _names(visit)]
        if others:
            tag("p", f"{len(others)} pipelines of the repository also add documents to this collection.", "meta")

    async def create(form: PipelineForm) -> None:
        await _save(visit, [*map(draft_of, pipelines), form.draft()])
        ui.navigate.to(_here(visit))

    with section("New pipeline"):
        ModelForm(PipelineForm, create, submit="Create")


def _here(visit: Visit) -> str:
    return f"{visit.here}?tab=pipelines"


def _names(visit: Visit) -> set[str | None]:
    found = visit.opened.collection
    return {found.collection_id, found.name, "default" if visit.opened.is_default else found.collection_id}


def draft_of(pipeline: Pipeline) -> PipelineDraft:
    """Convert a pipeline to a request that leaves it unchanged."""
    return PipelineDraft.model_validate(pipeline.model_dump(by_alias=False))


async def _save(visit: Visit, drafts: list[PipelineDraft]) -> None:
    found = visit.opened.collection
    await update_collection(
        visit.resources.store,
        visit.caller,
        found.repository_id,
        found.collection_id,
        CollectionChanges(pipelines=drafts),
        expected=found.version if found.version > 0 else None,
    )
    await sync_schedules(visit.resources)


async def _card(visit: Visit, pipeline: Pipeline) -> None:
    found = visit.opened.collection
    config = PipelineConfig(repository_id=found.repository_id, owner_collection=found.collection_id, pipeline_id=pipeline.pipeline_id)
    state = await state_of(visit.resources, config)
    with tag("article", classes="card stack gap-1 rag-pipeline"):
        with tag("p", classes="line gap-1"):
            tag("span", source_text(pipeline), "strong", dir="auto")
            badge("Paused", "warning") if pipeline.paused else badge("Active", "done")
        tag("p", when_text(pipeline), "meta")
        _outcome(state)
        with tag("div", classes="line gap-1"):
            _buttons(visit, pipeline, tag("div", classes="fill", aria_live="polite"))


def source_text(pipeline: Pipeline) -> str:
    """The source of a pipeline, in words."""
    return pipeline.folder or f"{pipeline.s3_bucket}/{pipeline.s3_prefix}"


def when_text(pipeline: Pipeline) -> str:
    """The schedule of a pipeline and its patterns, in words."""
    cron = cron_of(pipeline)
    when = "runs every minute" if cron is None else f"runs at {cron} ({pipeline.timezone or 'UTC'})"
    includes = f"includes {', '.join(pipeline.include)}" if pipeline.include else "includes everything"
    excludes = f" except {', '.join(pipeline.exclude)}" if pipeline.exclude else ""
    removes = "removes documents whose objects are gone" if pipeline.auto_remove else "keeps documents whose objects are gone"
    return f"{when}; {includes}{excludes}; {removes}".capitalize()


def _outcome(state: PipelineState) -> None:
    """Show the result of the last run."""
    if state.error_message:
        tag("p", state.error_message, "note failed")
    if state.looked_at is None:
        tag("p", "It has not run yet.", "meta")
        return
    with tag("p", classes="line gap-1 meta"):
        tag("span", f"{state.found:,} found, {state.ingested:,} ingested, {state.removed:,} removed", "num")
        ago(state.looked_at)
        if state.last_job_id is not None:
            tag("a", "Job", "link", href=f"{jobs_address('rag')}/{state.last_job_id}")


def _buttons(visit: Visit, pipeline: Pipeline, outcome: Tag) -> None:
    pipelines = visit.opened.collection.pipelines or []

    async def run_pipeline(dry_run: bool) -> None:
        outcome.clear()
        found = visit.opened.collection
        try:
            job = await start_run(
                visit.resources,
                visit.caller,
                found.repository_id,
                pipeline.pipeline_id,
                collection=found.collection_id,
                dry_run=dry_run,
            )
            ended = await _wait_for_end(visit, job)
        except Exception as error:
            with outcome:
                trouble(error)
            return
        with outcome:
            _result(ended)

    async def pause() -> None:
        changed = [
            draft_of(one).model_copy(update={"paused": not one.paused}) if one.pipeline_id == pipeline.pipeline_id else draft_of(one)
            for one in pipelines
        ]
        await do(visit.view, lambda: _save(visit, changed), "Resumed" if pipeline.paused else "Paused", _here(visit))

    async def remove() -> None:
        if await confirm("Remove this pipeline?", "The documents that it has ingested are kept.", verb="Remove"):
            kept = [draft_of(one) for one in pipelines if one.pipeline_id != pipeline.pipeline_id]
            await do(visit.view, lambda: _save(visit, kept), "Removed", _here(visit))

    with tag("div", classes="line gap-1"):
        button("Dry run", lambda: run_pipeline(True), icon="visibility", look="small")
        button("Run now", lambda: run_pipeline(False), icon="play_arrow", look="small")
        button("Resume" if pipeline.paused else "Pause", pause, icon="play_circle" if pipeline.paused else "pause", look="small")
        button("Remove", remove, icon="delete", look="small danger")


async def _wait_for_end(visit: Visit, job: Job) -> Job:
    """Wait for the job of a run, and return it in its latest state."""
    queue = visit.resources.queue

    async def followed() -> None:
        async for _ in follow_async(queue, job.job_id):
            pass

    try:
        await asyncio.wait_for(followed(), _WAIT_SECONDS)
    except TimeoutError:
        return job
    return await queue.get(job.job_id)


def _result(job: Job) -> None:
    """Show the result of a run or a dry run."""
    place = f"{jobs_address('rag')}/{job.job_id}"
    if job.status is not JobStatus.COMPLETED or job.job_results is None:
        over = job.status in (JobStatus.FAILED, JobStatus.CANCELLED)
        words = "The run was not completed" if over else "The run is still in progress"
        failure = job.attempts[-1].error if over and job.attempts else None
        with tag("p", classes=f"note line gap-1 {'failed' if over else ''}"):
            tag("span", f"{words}: {failure.message}" if failure else f"{words}.")
            tag("a", "Job", "link", href=place)
        return
    found = PipelineResult.model_validate(job.job_results.value)
    verb = "would be " if found.dry_run else ""
    with tag("div", classes="note stack gap-1", role="status"):
        counts = f"{found.found:,} found, {found.unchanged:,} unchanged, {found.left_out:,} excluded"
        tag("p", found.note or f"{counts}; {found.ingested:,} {verb}ingested, {found.removed:,} {verb}removed.")
        for words, names in (("To ingest" if found.dry_run else "Ingested", found.to_ingest), ("To remove", found.to_remove)):
            if names:
                with tag("details"):
                    tag("summary", f"{words} ({len(names)})", "meta")
                    with tag("ul"):
                        for name in names:
                            tag("li", name, dir="auto")
