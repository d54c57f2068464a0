"""Use cases of the comments stage: find topics under a job, and load them."""

from __future__ import annotations

import asyncio
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.delphi.errors import RunMissing
from gateleg.apps.delphi.model_checks import chat_or_reason
from gateleg.apps.delphi.runs.run_tables import StoredComment
from gateleg.apps.delphi.runs.stored_topics import TopicRows, topics_from
from gateleg.apps.delphi.runs.topic_rows import sketches_of, topic_rows_of, topics_summary
from gateleg.apps.delphi.runs.uploads import load_comments, load_conversation
from gateleg.apps.delphi.service import complete_run, latest_run, results, start_run
from gateleg.apps.delphi.tables import ClusterAssignment, ClusterKeywords, CommentEmbedding, GraphEdge, TopicName
from gateleg.apps.delphi.topics.config import TopicsConfig
from gateleg.apps.delphi.topics.stage import analyse_comments, names_given_up

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from gateleg.ai import Models
    from gateleg.apps.delphi.conversations.conversation import Comment
    from gateleg.apps.delphi.conversations.votes import Votes
    from gateleg.apps.delphi.runs.origin import Origin
    from gateleg.apps.delphi.runs.run_tables import Run
    from gateleg.apps.delphi.topics.identity import Sketch
    from gateleg.apps.delphi.topics.stage import Topics
    from gateleg.store import AsyncStore

_ROWS_AT_ONCE = 100
#: The progress of a run, of 1, at the start of each step, and the step's share.
_STEPS = {"embeddings": (0.05, 0.4), "layers": (0.45, 0.1), "map": (0.55, 0.15), "graph": (0.7, 0.05), "names": (0.75, 0.15)}


async def run_topics(
    store: AsyncStore,
    models: Models,
    origin: Origin,
    config: TopicsConfig | None = None,
    report: Callable[[float, str], object] = lambda done, step: None,
    *,
    lenient: bool = False,
) -> Run:
    """Find the topics of a conversation's comments, write them under the job, and make the run the latest of its stage.

    Topics that the previous run also found keep their identity. `report` is as for `run_votes`. If `lenient`, a model
    for names that cannot be used is done without.
    """
    config = config or TopicsConfig()
    run, upload = await start_run(store, origin, config.model_dump(mode="json"))
    report(0.0, "reading comments")
    comments = await load_comments(store, upload)
    before = await _run_before(store, run)
    sketches = [] if before is None else await _sketches(store, before)
    embeddings = models.embeddings(config.embedding_address)
    known = await _known(store, before, comments, embeddings.model) if config.skip_embedding and before is not None else {}

    def report_step(step: str, done: float) -> None:
        start, share = _STEPS[step]
        report(start + share * done, step)

    chat, why = chat_or_reason(models, config.naming_model, lenient=lenient)
    loop = asyncio.get_running_loop()

    def load_votes() -> Votes:
        # Called from the analysis, which runs in a thread, and only if it needs the votes.
        return asyncio.run_coroutine_threadsafe(load_conversation(store, upload), loop).result().counted_votes()

    topics = await asyncio.to_thread(
        analyse_comments,
        comments,
        embeddings,
        config,
        chat=chat,
        votes=load_votes,
        known=known,
        before=sketches,
        report=report_step,
    )
    await write_topics(store, topics, comments, origin, report)
    return await complete_run(store, run, summary=topics_summary(topics) | {"names_given_up": names_given_up(topics, why)})


async def write_topics(
    store: AsyncStore,
    topics: Topics,
    comments: Sequence[Comment],
    origin: Origin,
    report: Callable[[float, str], object] = lambda done, step: None,
) -> None:
    """Write all rows of a run. Idempotent."""
    rows = topic_rows_of(topics, comments, origin)
    while batch := list(islice(rows, _ROWS_AT_ONCE)):
        await store.batch_write(batch)
        report(0.95, "writing results")


async def load_topics(store: AsyncStore, run: Run, names: Sequence[TopicName] | None = None, *, vectors: bool = True) -> Topics:
    """The topics of a completed run, with their current names unless `names` are given.

    The vectors are large; pass `vectors=False` to only show topics.
    """
    return topics_from(
        run,
        TopicRows(
            [row async for row in results(store, CommentEmbedding, run.job_id)] if vectors else [],
            [row async for row in results(store, ClusterAssignment, run.job_id)],
            [row async for row in results(store, ClusterKeywords, run.job_id)],
            [row async for row in results(store, TopicName, run.job_id)] if names is None else names,
            [row async for row in results(store, GraphEdge, run.job_id)],
        ),
    )


async def _run_before(store: AsyncStore, run: Run) -> Run | None:
    """The latest completed run, unless it is this run, restarted."""
    try:
        before = await latest_run(store, run.conversation_id, run.stage)
    except RunMissing:
        return None
    return None if before.job_id == run.job_id else before


async def _sketches(store: AsyncStore, run: Run) -> Sequence[Sketch]:
    keywords = [row async for row in results(store, ClusterKeywords, run.job_id)]
    return sketches_of(keywords, [row async for row in results(store, ClusterAssignment, run.job_id)])


async def _known(store: AsyncStore, before: Run, comments: Sequence[Comment], model: str) -> dict[int, NDArray[np.float32]]:
    """The vectors of unchanged comments from an earlier run with the same model."""
    earlier = {row.comment_id: row.body async for row in store.query(StoredComment.of_upload, upload_id=before.upload_id)}
    same = {comment.comment_id for comment in comments if earlier.get(comment.comment_id) == comment.body}
    return {
        row.comment_id: np.array(row.embedding.vector, dtype=np.float32)
        async for row in results(store, CommentEmbedding, before.job_id)
        # Vectors of comments that were rejected meanwhile have been replaced by zeros.
        if row.comment_id in same and row.embedding.model == model and any(row.embedding.vector)
    }
