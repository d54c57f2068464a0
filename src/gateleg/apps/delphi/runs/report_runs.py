"""Use cases of the report stage: write the results of runs as sections, maps and data files, under a job.

Files are stored at `visualizations/{conversation}/{job_id}/...` (`artifact_key`). Writing them again yields the same files.
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from gateleg.ai import Models
from gateleg.apps.delphi.errors import BrowserMissing, PrintingFailed, RunMissing
from gateleg.apps.delphi.model_checks import chat_or_reason
from gateleg.apps.delphi.opinions.config import VotesConfig
from gateleg.apps.delphi.opinions.matrix import VoteMatrix
from gateleg.apps.delphi.opinions.moderation import Moderation
from gateleg.apps.delphi.reports.artifacts import content_type, data_files, make_artifacts, translated_files
from gateleg.apps.delphi.reports.chromium import print_files
from gateleg.apps.delphi.reports.config import ReportConfig
from gateleg.apps.delphi.reports.model_sections import Written, write_section
from gateleg.apps.delphi.reports.moments import with_moments
from gateleg.apps.delphi.reports.narrative import write_sections
from gateleg.apps.delphi.reports.self_descriptions import with_alternative, with_suggestions
from gateleg.apps.delphi.runs.origin import TOPICS_STAGE, VOTES_STAGE, Origin, artifact_key
from gateleg.apps.delphi.runs.rejections import load_rejections
from gateleg.apps.delphi.runs.run_tables import NarrativeSection, Run
from gateleg.apps.delphi.runs.stored_findings import VoteRows, findings_from
from gateleg.apps.delphi.runs.topic_runs import load_topics
from gateleg.apps.delphi.runs.uploads import find_upload, load_comments, load_conversation
from gateleg.apps.delphi.runs.vote_tables import (
    CommentStatistics,
    ConsensusComment,
    OpinionGroup,
    ParticipantProjection,
    RepresentativeComment,
)
from gateleg.apps.delphi.service import complete_run, results, run_beside, start_run
from gateleg.apps.delphi.tables import CommentExtremity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gateleg.apps.delphi.conversations.conversation import Conversation
    from gateleg.apps.delphi.reports.findings import Findings
    from gateleg.apps.delphi.reports.sections import Section
    from gateleg.apps.delphi.runs.rejections import Rejections
    from gateleg.apps.delphi.topics.stage import Topics
    from gateleg.objects import AsyncObjects
    from gateleg.store import AsyncStore


async def run_report(
    store: AsyncStore,
    objects: AsyncObjects,
    origin: Origin,
    config: ReportConfig | None = None,
    report: Callable[[float, str], object] = lambda done, step: None,
    models: Models | None = None,
    *,
    lenient: bool = False,
) -> Run:
    """Write the report of a conversation: sections into the store, files into the object store. `summary["artifacts"]` has their names.

    It describes the runs of the same pipeline, or else the latest completed ones. Without a run of the comments stage it has no topics.
    If `lenient`, chat models that cannot be used are done without.
    """
    config = config or ReportConfig()
    votes = await run_beside(store, origin, VOTES_STAGE)
    run, _ = await start_run(store, origin, config.model_dump(mode="json"), votes.upload_id)
    topics = await _topics_run(store, origin) if config.include_topics else None
    sources = Sources(votes, topics, config, models or Models(), lenient)
    rejections = await load_rejections(store, origin.conversation_id)
    done = await complete_run(store, run, summary=await _write(store, objects, origin, sources, report))
    # If a comment was rejected meanwhile, its withdrawal may have missed this run, which was not completed yet.
    if not (await load_rejections(store, origin.conversation_id)).comments <= rejections.comments:
        done = await write_again(store, objects, done, models)
    return done


async def write_again(store: AsyncStore, objects: AsyncObjects, run: Run, models: Models | None = None) -> Run:
    """Write a completed report again, from the same runs and with the same config, but with the current moderation."""
    origin = Origin(run.job_id, run.conversation_id, run.created_at, run.parent_job_id, run.root_job_id, run.stage)
    votes = await store.get(Run, job_id=run.summary["votes_job"], stage=VOTES_STAGE, consistent=True)
    topics_job = run.summary["topics_job"]
    topics = None if topics_job is None else await store.get(Run, job_id=topics_job, stage=TOPICS_STAGE, consistent=True)
    # Runs of earlier versions may have settings that no longer exist.
    config = ReportConfig.model_validate({name: value for name, value in run.config.items() if name in ReportConfig.model_fields})
    while True:
        rejections = await load_rejections(store, run.conversation_id)
        await store.delete_all(NarrativeSection.of_job(job_id=run.job_id))
        # A withdrawn report must come back, whatever has become of its model.
        summary = await _write(store, objects, origin, Sources(votes, topics, config, models or Models(), lenient=True))
        done = await store.patch(run, Run.summary.set(summary))
        if (await load_rejections(store, run.conversation_id)).comments <= rejections.comments:
            return done


@dataclass(frozen=True, slots=True)
class Sources:
    """The runs, config and models of a report."""

    votes: Run
    topics: Run | None
    config: ReportConfig
    models: Models
    lenient: bool = False


async def _write(
    store: AsyncStore,
    objects: AsyncObjects,
    origin: Origin,
    sources: Sources,
    report: Callable[[float, str], object] = lambda done, step: None,
) -> dict[str, object]:
    """Write the sections and files of a report, and return the summary of its run."""
    votes, topics, config = sources.votes, sources.topics, sources.config
    report(0.0, "reading results")
    rejections = await load_rejections(store, origin.conversation_id)
    conversation, findings = await load_findings(store, votes, None if topics is None else await load_topics(store, topics), rejections)
    matrix = await asyncio.to_thread(VoteMatrix.of, conversation.counted_votes())
    report(0.1, "tracing the groups back")
    moderation = await _moderation(store, votes)
    findings = await asyncio.to_thread(with_moments, findings, conversation.counted_votes(), moderation, matrix.participants)
    if findings.suggested:
        report(0.2, "finding groups without self-descriptions")
        findings = await asyncio.to_thread(with_alternative, findings, conversation, _votes_config(votes))
    written = await _write_sections(findings, sources, report)
    await store.batch_write(_rows(written, origin))
    report(0.8, "drawing maps")
    files = await asyncio.to_thread(_files, conversation, matrix, findings, written, config)
    translator, not_translated = chat_or_reason(sources.models, config.translator_address, lenient=sources.lenient)
    if translator is not None:
        report(0.81, "translating")
        files |= await asyncio.to_thread(translated_files, translator, files, config.language)
    prints, why = await asyncio.to_thread(_print_files, files, config.formats)
    files |= prints
    for number, (name, content) in enumerate(files.items()):
        report(0.85 + 0.15 * number / len(files), "storing files")
        await objects.put(artifact_key(origin, name), content, content_type=content_type(name))
    known: dict[str, object] = {
        "not_printed": why,
        "not_translated": not_translated or None,
        "moderated_by": str(rejections.upload_id),
        "self_descriptions": _self_descriptions(findings),
    }
    return _summary(votes, topics, written, list(files)) | known


def _votes_config(votes: Run) -> VotesConfig:
    # Runs of earlier versions may have settings that no longer exist.
    return VotesConfig.model_validate({name: value for name, value in votes.config.items() if name in VotesConfig.model_fields})


def _self_descriptions(findings: Findings) -> dict[str, object]:
    """The suggestions of a report, and the groups without them."""
    return {
        "suggested": [one.comment_id for one in findings.suggested],
        "without": None if findings.without is None else asdict(findings.without),
    }


async def _topics_run(store: AsyncStore, origin: Origin) -> Run | None:
    try:
        return await run_beside(store, origin, TOPICS_STAGE)
    except RunMissing:
        return None


async def _write_sections(findings: Findings, sources: Sources, report: Callable[[float, str], object]) -> list[Written]:
    """The chosen sections, with statements that the model has chosen if there is one."""
    config = sources.config
    chat, why = chat_or_reason(sources.models, config.model_address, lenient=sources.lenient)
    templates = await asyncio.to_thread(chosen_sections, findings, config)
    found: list[Written] = []
    for number, template in enumerate(templates):
        report(0.3 + 0.5 * number / max(1, len(templates)), "writing sections")
        if chat is None:
            found.append(Written(template, "templates", failure=why))
        else:
            found.append(await asyncio.to_thread(write_section, chat, findings, template, config.max_tokens))
    return found


async def load_findings(
    store: AsyncStore, votes: Run, topics: Topics | None = None, rejections: Rejections | None = None
) -> tuple[Conversation, Findings]:
    """The conversation that a completed run of the votes stage has read, and its findings with the topics of another run. Comments that
    were rejected since are removed."""
    upload = await find_upload(store, votes.conversation_id, votes.upload_id)
    rejections = rejections or await load_rejections(store, votes.conversation_id)
    read = await load_conversation(store, upload)
    # The votes that the run has counted: the earliest ones of participants who are not excluded.
    counted = replace(read, votes=read.counted_votes(votes.config.get("max_votes")))
    conversation = rejections.applied_to(counted)
    rows = VoteRows(
        [row async for row in results(store, CommentStatistics, votes.job_id)],
        [row async for row in results(store, CommentExtremity, votes.job_id)],
        [row async for row in results(store, OpinionGroup, votes.job_id)],
        [row async for row in results(store, RepresentativeComment, votes.job_id)],
        [row async for row in results(store, ConsensusComment, votes.job_id)],
        [row async for row in results(store, ParticipantProjection, votes.job_id)],
    )
    return conversation, with_suggestions(findings_from(conversation, votes, rows, topics), () if topics is None else topics.suggested)


def chosen_sections(findings: Findings, config: ReportConfig) -> list[Section]:
    """The sections that a config chooses, written from templates."""
    left_out = set() if config.include_consensus else {"group_informed_consensus"}
    left_out |= set() if config.include_uncertainty else {"uncertainty"}
    return [section for section in write_sections(findings) if section.id not in left_out]


def _rows(written: Sequence[Written], origin: Origin) -> list[NarrativeSection]:
    common = origin.fields()
    return [
        NarrativeSection(
            **common,
            section=one.section.id,
            title=one.section.title,
            place=place,
            model=one.by,
            body=one.section.model_dump(mode="json"),
        )
        for place, one in enumerate(written)
    ]


async def _moderation(store: AsyncStore, votes: Run) -> Moderation:
    """The moderation at the time of the run: comments that were rejected later have influenced its groups."""
    upload = await find_upload(store, votes.conversation_id, votes.upload_id)
    return Moderation.of(await load_comments(store, upload), votes.config.get("excluded_comments", ()))


def _files(
    conversation: Conversation, matrix: VoteMatrix, findings: Findings, written: Sequence[Written], config: ReportConfig
) -> dict[str, bytes]:
    data = data_files(findings, matrix, conversation.comments)
    authors = sorted({one.by for one in written})
    by = " and ".join(authors) or "templates"
    return make_artifacts(findings, [one.section for one in written], data, by, matrix, config.visualizations)


def _print_files(files: dict[str, bytes], formats: Sequence[str]) -> tuple[dict[str, bytes], str | None]:
    """The files that Chromium prints, or why it could not: a report without them is still complete."""
    try:
        return print_files(files, formats), None
    except (BrowserMissing, PrintingFailed) as error:
        return {}, str(error)


def _summary(votes: Run, topics: Run | None, written: Sequence[Written], names: Sequence[str]) -> dict[str, object]:
    given_up = {one.section.id: one.failure or list(one.faults[:5]) for one in written if one.given_up}
    return {
        "votes_job": str(votes.job_id),
        "topics_job": None if topics is None else str(topics.job_id),
        "sections": len(written),
        "written_by": sorted({one.by for one in written}),
        "given_up": dict(list(given_up.items())[:20]),
        "artifacts": list(names),
    }
