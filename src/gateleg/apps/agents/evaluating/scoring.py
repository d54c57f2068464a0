"""The job of an evaluation: ask each version every question, snooze until the answers are there, and check them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from gateleg.ai import AiError, System, User
from gateleg.apps.agents.errors import AgentsError
from gateleg.apps.agents.evaluating.cases import (
    SHOWN_REASON,
    Case,
    Contains,
    Equals,
    Judged,
    Matches,
    answer_bytes,
    contains,
    equals,
    excerpt,
)
from gateleg.apps.agents.evaluation_tables import Evaluation, EvaluationStatus
from gateleg.apps.agents.running.questions import Question
from gateleg.apps.agents.running.submission import ask
from gateleg.apps.agents.running.threads import find_run, is_open
from gateleg.apps.agents.running.transcripts import read_run
from gateleg.apps.agents.thread_tables import RunStatus
from gateleg.apps.agents.usage import JUDGING, billed_to
from gateleg.jobs import GiveUp, Snooze
from gateleg.processes import Matching, match_patterns
from gateleg.store import ConditionFailed

if TYPE_CHECKING:
    from gateleg.apps.agents.running.job_types import EvaluateConfig
    from gateleg.apps.agents.running.submission import SubmittedRun
    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.apps.agents.tenancy import Context
    from gateleg.apps.agents.thread_tables import Run
    from gateleg.host import Resources
    from gateleg.jobs import JobContext

__all__ = ["evaluate"]

#: Seconds between two polls of the runs.
_AGAIN = 0.5
_JUDGE = "You judge the answer of an assistant. Say whether it meets the criterion, and why, in one sentence."


class Verdict(BaseModel):
    """Whether an answer meets a criterion."""

    passed: bool
    reason: str = ""


@dataclass(frozen=True)
class Answer:
    """The answer of a version to a case."""

    run: Run
    text: str


async def evaluate(job: JobContext, config: EvaluateConfig, resources: Resources[AgentsSettings]) -> dict[str, int]:
    """Run an evaluation to its end. A repeated call asks no question twice."""
    store, context = resources.store, config.request.context(config.partition)
    evaluation = await store.find(Evaluation, partition=config.partition, evaluation_uuid=config.evaluation_uuid, consistent=True)
    if evaluation is None or evaluation.status is not EvaluationStatus.RUNNING:
        return {}
    try:
        runs = await _runs(resources, context, evaluation)
        waiting = sum(is_open(run) and run.status is not RunStatus.REQUIRES_ACTION for run in runs.values())
        job.progress(len(runs) - waiting, len(runs), f"{len(runs) - waiting} of {len(runs)} answers")
        if waiting:
            raise Snooze(_AGAIN)
        answers = {place: Answer(run, await _text(resources, run)) for place, run in runs.items()}
        results = await _checked(resources, context, evaluation, answers)
    except (AgentsError, AiError) as error:
        await _end(resources, evaluation, EvaluationStatus.FAILED, error=error.public_text)
        raise GiveUp(str(error)) from error
    except Snooze:
        raise
    except Exception as error:
        if job.job.retry_count >= job.job.max_retries:
            await _end(resources, evaluation, EvaluationStatus.FAILED, error=f"The evaluation failed with {type(error).__name__}.")
        raise
    versions = evaluation.agent_version_uuids
    passed = {version: sum(one["versions"][version]["passed"] for one in results) for version in versions}
    await _end(resources, evaluation, EvaluationStatus.COMPLETED, results=results, passed=passed)
    return passed


async def _end(resources: Resources[AgentsSettings], evaluation: Evaluation, status: EvaluationStatus, **values: Any) -> None:
    changes = [getattr(Evaluation, name).set(value) for name, value in values.items()]
    try:
        await resources.store.patch(evaluation, Evaluation.status.to(status), *changes)
    except ConditionFailed:
        # Another attempt has finished it.
        return


async def _runs(resources: Resources[AgentsSettings], context: Context, evaluation: Evaluation) -> dict[tuple[int, str], Run]:
    """The runs of all cases and versions. Submits missing ones."""
    found: dict[tuple[int, str], Run] = {}
    for number, given in enumerate(evaluation.cases):
        case = Case.model_validate(given)
        for version in evaluation.agent_version_uuids:
            asked: SubmittedRun = await ask(
                resources,
                context,
                Question(
                    agent_uuid=evaluation.agent_uuid,
                    agent_version_uuid=version,
                    user_query=case.question,
                    output_schema=case.output_schema,
                    idempotency_key=f"evaluation/{evaluation.evaluation_uuid}/{number}/{version}",
                    updated_by="evaluation",
                ),
            )
            found[number, version] = await find_run(resources.store, context, asked.thread_uuid, asked.run_uuid)
    return found


async def _text(resources: Resources[AgentsSettings], run: Run) -> str:
    if run.status is not RunStatus.COMPLETED:
        return ""
    return (await read_run(resources.store, run.partition, run.thread_uuid, run.run_uuid)).messages[-1].message


async def _checked(
    resources: Resources[AgentsSettings], context: Context, evaluation: Evaluation, answers: dict[tuple[int, str], Answer]
) -> list[dict[str, Any]]:
    """The results of each case, side by side."""
    matched, room = await _matched(evaluation, answers), answer_bytes(evaluation.cases, len(evaluation.agent_version_uuids))
    results = []
    for number, given in enumerate(evaluation.cases):
        case = Case.model_validate(given)
        versions: dict[str, Any] = {}
        for version in evaluation.agent_version_uuids:
            answer = answers[number, version]
            checks = [await _check(resources, context, one, case, answer, matched) for one in case.checks]
            versions[version] = {
                "answer": excerpt(answer.text, room),
                "passed": bool(checks) and all(one["passed"] for one in checks),
                "checks": checks,
                "status": str(answer.run.status),
                "thread_uuid": answer.run.thread_uuid,
                "run_uuid": answer.run.run_uuid,
                "total_tokens": answer.run.total_tokens,
                "time_spent": answer.run.time_spent,
            }
        results.append({"question": case.question, "versions": versions})
    return results


async def _matched(evaluation: Evaluation, answers: dict[tuple[int, str], Answer]) -> dict[tuple[str, str], bool | None]:
    """Which regular expressions match in which answers; None for those that cannot be applied in time."""
    matchings = [
        Matching(check.pattern, answer.text)
        for (number, _), answer in answers.items()
        for check in Case.model_validate(evaluation.cases[number]).checks
        if isinstance(check, Matches)
    ]
    return {(one.pattern, one.text): found for one, found in zip(matchings, await match_patterns(matchings), strict=True)}


async def _check(
    resources: Resources[AgentsSettings],
    context: Context,
    check: Contains | Matches | Equals | Judged,
    case: Case,
    answer: Answer,
    matched: dict[tuple[str, str], bool | None],
) -> dict[str, Any]:
    if answer.run.status is not RunStatus.COMPLETED:
        return {
            "kind": check.kind,
            "passed": False,
            "reason": excerpt(answer.run.error or f"The run is {answer.run.status}.", SHOWN_REASON),
        }
    match check:
        case Contains():
            return {"kind": check.kind, "passed": contains(check, answer.text)}
        case Equals():
            return {"kind": check.kind, "passed": equals(check, answer.text, answer.run.output)}
        case Matches():
            found = matched.get((check.pattern, answer.text))
            reason = "" if found is not None else "The pattern is not a valid regular expression, or takes too long."
            return {"kind": check.kind, "passed": bool(found), "reason": reason}
        case Judged():
            text = f"Question: {case.question}\n\nAnswer: {answer.text}\n\nCriterion: {check.criterion}"
            judge = billed_to(resources, context.partition, JUDGING, run=answer.run).chat(resources.settings.judge_model)
            verdict = (await judge.structured(Verdict, [System(_JUDGE), User(text)], temperature=0, max_tokens=300)).value
            return {"kind": check.kind, "passed": verdict.passed, "reason": excerpt(verdict.reason, SHOWN_REASON)}
