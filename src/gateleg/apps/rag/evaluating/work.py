"""The job type that runs a golden set, with its handler."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from gateleg.apps.rag.answering.service import answer_tools
from gateleg.apps.rag.collections import find_collection
from gateleg.apps.rag.errors import UnknownCollection
from gateleg.apps.rag.evaluating.evaluator import Outcome, cites_relevant, is_answered, is_correct, is_refused, run_questions
from gateleg.apps.rag.evaluating.measures import compare
from gateleg.apps.rag.evaluating.service import EVALUATE, EvaluationConfig, EvaluationResult, find_set, questions_of
from gateleg.apps.rag.evaluating.tables import MOST_KEPT, ConfigurationResult, EvaluationRun
from gateleg.apps.rag.tables import Repository
from gateleg.jobs import GiveUp, Jobs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.rag.evaluating.service import Configuration
    from gateleg.apps.rag.settings import RagSettings
    from gateleg.apps.rag.tables import Collection
    from gateleg.host import Resources
    from gateleg.jobs import JobContext


def evaluation_jobs(resources: Resources[RagSettings]) -> Jobs:
    """The job type of evaluations, with its handler."""
    jobs = Jobs()

    @jobs.handler(EVALUATE, config=EvaluationConfig, result=EvaluationResult, priority=30, timeout=4 * 3600)
    async def evaluate(job: JobContext, config: EvaluationConfig) -> EvaluationResult:
        return await run_evaluation(job, resources, config)

    return jobs


async def run_evaluation(job: JobContext, resources: Resources[RagSettings], config: EvaluationConfig) -> EvaluationResult:
    """Run the questions of a golden set with each configuration, and store the results."""
    collection = await _collection(resources, config)
    golden = await find_set(resources.store, collection, config.set_id)
    questions = await questions_of(resources.store, golden)
    tools = answer_tools(resources)
    total = len(questions) * len(config.configurations)
    outcomes: list[Outcome] = []
    for number, configuration in enumerate(config.configurations):
        done = number * len(questions)

        async def progress(number: int, done: int = done, name: str = configuration.name) -> None:
            job.progress(done + number, total, f"{name}: {number} of {len(questions)} questions")

        outcomes.append(
            await run_questions(tools, collection, questions, configuration.request, config.k, answers=config.answers, progress=progress)
        )
    run = EvaluationRun(
        run_id=config.run_id,
        repository_id=config.repository_id,
        collection_id=config.collection_id,
        set_id=config.set_id,
        set_name=golden.name,
        questions=len(questions),
        k=config.k,
        results=[_result(one, outcome) for one, outcome in zip(config.configurations, outcomes, strict=True)],
        comparisons=[asdict(compare(outcomes[0].measured, outcome.measured)) for outcome in outcomes[1:]],
        details=_details(config.configurations, outcomes),
        created_by=config.created_by,
    )
    # Idempotent: a second attempt writes the same row.
    await resources.store.put(run)
    return EvaluationResult(run_id=config.run_id, ndcg=[outcome.mean.ndcg for outcome in outcomes])


async def _collection(resources: Resources[RagSettings], config: EvaluationConfig) -> Collection:
    repository = await resources.store.find(Repository, repository_id=config.repository_id, consistent=True)
    collection = None if repository is None else await find_collection(resources.store, repository, config.collection_id)
    if collection is None:
        raise GiveUp(str(UnknownCollection(f"The collection {config.collection_id!r} no longer exists.")))
    return collection


def _result(configuration: Configuration, outcome: Outcome) -> ConfigurationResult:
    found = outcome.mean
    return ConfigurationResult(
        name=configuration.name,
        request=configuration.request,
        recall=found.recall,
        precision=found.precision,
        mrr=found.reciprocal_rank,
        ndcg=found.ndcg,
        hit_rate=found.hit,
        milliseconds=round(outcome.milliseconds, 2),
        answered=outcome.share(is_answered),
        correct=outcome.share(is_correct),
        cited=outcome.share(cites_relevant),
        refused=outcome.share(is_refused),
    )


def _details(configurations: Sequence[Configuration], outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """The questions on which the configurations differ most, then those with the worst results."""
    rows = []
    for results in zip(*(outcome.results for outcome in outcomes), strict=True):
        scores = [one.measures.ndcg for one in results]
        named = {configuration.name: round(score, 4) for configuration, score in zip(configurations, scores, strict=True)}
        row = {
            "question": results[0].question.question[:300],
            "ndcg": named,
            "found": [document[:80] for document in results[0].documents[:5]],
        }
        rows.append((max(scores) - min(scores), -max(scores), row))
    rows.sort(key=lambda one: (-one[0], -one[1]))
    return [row for _, _, row in rows[:MOST_KEPT]]
