"""The pages of evaluation: evaluation sets, and the answers of two versions side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from nicegui import background_tasks, context, ui

from gateleg.apps.agents.agents import list_agents
from gateleg.apps.agents.errors import NotFoundInPartition
from gateleg.apps.agents.evaluating.sets import begin_evaluation, delete_set, find_evaluation, find_set, save_set
from gateleg.apps.agents.evaluation_tables import Evaluation, EvaluationSet, EvaluationStatus
from gateleg.apps.agents.listing import MAX_LIMIT, Paging
from gateleg.apps.agents.versions import AGENTS, versions_of
from gateleg.apps.agents.web.evaluation_forms import SetForm, VersionsForm, versions_form
from gateleg.apps.agents.web.lists_part import offer_new, show_list
from gateleg.apps.agents.web.page_context import Visit, show_not_found
from gateleg.apps.agents.web.statuses import evaluation_badge, evaluation_cell
from gateleg.apps.agents.web.urls import EVALUATION, EVALUATION_SET, FRESH, HOME, agent_place, item_place, run_place, tab_place
from gateleg.host import Role
from gateleg.jobs import JobMissing, follow_async
from gateleg.web.console.components import (
    Column,
    Crumb,
    Field,
    Grid,
    ModelForm,
    Row,
    Tabs,
    ago,
    ago_cell,
    badge,
    button,
    confirm,
    empty,
    frame,
    section,
    tag,
)

if TYPE_CHECKING:
    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.host import Resources

_SETS = (Column("name", "Set"), Column("cases", "Questions", right=True), Column("by", "By", desk=True), Column("changed", "Changed"))
_EVALUATIONS = (
    Column("name", "Evaluation"),
    Column("status", "Status"),
    Column("passed", "Passed", desk=True),
    Column("when", "Begun"),
)
_SIZE = 20
#: How many of the newest versions can be chosen.
_VERSIONS = 50


async def show_evaluations(visit: Visit, cursor: str, sets: str = "") -> None:
    """The evaluation sets of the tenant, and the evaluations that the user may see."""
    store, place = visit.resources.store, visit.context
    with section("Evaluation sets"):
        if place.edits:
            offer_new("New set", item_place(place, EVALUATION_SET, FRESH))
        found = await store.page(EvaluationSet.in_partition(partition=place.partition), limit=_SIZE, cursor=sets or None)
        if found.items:
            Grid("Evaluation sets", _SETS, [_set_row(visit, one) for one in found.items])
        else:
            empty("box", "No sets yet", "A set holds questions with checks, for comparing versions of an agent.")
        with tag("nav", classes="line gap-1", aria_label="Pages of sets"):
            if sets:
                tag("a", "First sets", "deed small", href=tab_place(place, "evaluation"))
            if found.next is not None:
                tag("a", "More sets", "deed small", href=tab_place(place, "evaluation", sets=found.next), rel="next")
    with section("Evaluations"):
        question = Evaluation.in_partition(partition=place.partition)
        if not place.sees_all:
            question = question.filter(Evaluation.owner_id == place.owner)
        page = await store.page(question, limit=_SIZE, cursor=cursor or None)
        rows = [_evaluation_row(visit, one) for one in page.items]
        show_list(visit, "evaluation", "Evaluations", _EVALUATIONS, rows, cursor, page.next)


def _set_row(visit: Visit, one: EvaluationSet) -> Row:
    cells = {"name": one.name, "cases": f"{len(one.cases)}", "by": one.updated_by, "changed": ago_cell(one.updated_at)}
    return Row(one.evaluation_set_uuid, cells, href=item_place(visit.context, EVALUATION_SET, one.evaluation_set_uuid))


def _evaluation_row(visit: Visit, one: Evaluation) -> Row:
    passed = ", ".join(f"{one.passed.get(version, 0)} of {len(one.cases)}" for version in one.agent_version_uuids)
    cells = {
        "name": one.name,
        "status": evaluation_cell(one.status),
        "passed": passed if one.status is EvaluationStatus.COMPLETED else "",
        "when": ago_cell(one.created_at),
    }
    return Row(one.evaluation_uuid, cells, href=item_place(visit.context, EVALUATION, one.evaluation_uuid))


async def set_page(resources: Resources[AgentsSettings], set_uuid: str, part: str = "", tab: str = "", agent: str = "") -> None:
    """The page of an evaluation set: its questions, a form to change it, and a form to start an evaluation."""
    title = "New evaluation set" if set_uuid == FRESH else "Evaluation set"
    with frame(title=title, section="agents", crumbs=[Crumb("Agents", HOME)], titled=set_uuid == FRESH) as view:
        visit = Visit.of(view, resources, part)
        if set_uuid == FRESH:
            _edit_set(visit, None)
            return
        try:
            found = await find_set(resources.store, visit.context, set_uuid)
        except NotFoundInPartition:
            show_not_found("evaluation set")
            return
        _set_head(visit, found)

        async def build(key: str) -> None:
            match key:
                case "run":
                    await _run_part(visit, found, agent)
                case "questions":
                    _questions(found)
                case "edit":
                    _edit_set(visit, found)

        tabs = (("run", "Evaluate"), ("questions", "Questions"), ("edit", "Change"))
        await Tabs(tabs if visit.context.edits else tabs[:-1], tab or None, build, keep=visit.kept).start()


def _set_head(visit: Visit, found: EvaluationSet) -> None:
    async def delete() -> None:
        if await confirm("Delete this set?", "Existing evaluations keep their questions.", verb="Delete"):
            work = lambda: delete_set(visit.resources.store, visit.context, found.evaluation_set_uuid)  # noqa: E731
            await visit.do(work, "Deleted", tab_place(visit.context, "evaluation"))

    with tag("div", classes="head"):
        with tag("div", classes="titles"):
            tag("h1", found.name, dir="auto")
            with tag("p", classes="line gap-1 meta"):
                tag("span", f"{len(found.cases)} questions")
                ago(found.updated_at)
        if visit.context.edits:
            with tag("div", classes="deeds"):
                button("Delete", delete, icon="delete", look="small danger")


def _questions(found: EvaluationSet) -> None:
    for case in found.cases:
        with tag("article", classes="card stack gap-1"):
            tag("p", str(case["question"]), "strong", dir="auto")
            for check in case["checks"]:
                wanted = check.get("text") or check.get("pattern") or check.get("criterion") or check.get("value")
                tag("p", f"{check['kind']}: {wanted}", "meta", dir="auto")


def _edit_set(visit: Visit, found: EvaluationSet | None) -> None:
    async def save(form: SetForm) -> None:
        known = None if found is None else found.evaluation_set_uuid
        saved = await save_set(visit.resources.store, visit.context, form.name, form.cases, known)
        ui.navigate.to(item_place(visit.context, EVALUATION_SET, saved.evaluation_set_uuid))

    values = {"cases": []} if found is None else {"name": found.name, "cases": found.cases}
    ModelForm(SetForm, save, title="New evaluation set" if found is None else "Change the set", values=values)


async def _run_part(visit: Visit, found: EvaluationSet, agent_uuid: str) -> None:
    """The form to start an evaluation: an agent, then its versions."""
    store, place = visit.resources.store, visit.context
    agents = (await list_agents(store, place, Paging(limit=MAX_LIMIT), statuses=("active",))).items
    if not agents:
        empty("people", "No agents yet", "An evaluation compares versions of an agent.")
        return
    labels = {one.agent_uuid: one.agent_name for one in agents}
    chosen = agent_uuid if agent_uuid in labels else agents[0].agent_uuid

    def choose(uuid: str) -> None:
        ui.navigate.to(item_place(place, EVALUATION_SET, found.evaluation_set_uuid, agent=uuid))

    with tag("div", classes="narrow"):
        Field("Agent", chosen, kind="choice", choices=list(labels.items()), on_change=choose)
    page = await store.page(versions_of(place, AGENTS, chosen).reversed(), limit=_VERSIONS, consistent=True)
    versions = sorted(page.items, key=lambda one: one.created_at, reverse=True)
    active = next((one for one in versions if one.status == "active"), versions[0])
    others = [one.agent_version_uuid for one in versions if one is not active]

    async def begin(form: VersionsForm) -> None:
        wanted = [form.first, *([form.second] if form.second else [])]
        begun = await begin_evaluation(visit.resources, place, found.evaluation_set_uuid, chosen, wanted)
        ui.navigate.to(item_place(place, EVALUATION, begun.evaluation_uuid))

    values = {"first": active.agent_version_uuid, "second": others[0] if others else ""}
    ModelForm(versions_form(versions), begin, title="Versions", submit="Evaluate", values=values)
    tag("p", "Every question is a run in your name and counts towards your usage.", "meta")


async def evaluation_page(resources: Resources[AgentsSettings], evaluation_uuid: str, part: str = "") -> None:
    """The page of an evaluation: the versions side by side, question by question. It reloads when its job has ended."""
    with frame(title="Evaluation", section="agents", crumbs=[Crumb("Agents", HOME)], titled=False, wide=True) as view:
        visit = Visit.of(view, resources, part)
        try:
            found = await find_evaluation(resources.store, visit.context, evaluation_uuid)
        except NotFoundInPartition:
            show_not_found("evaluation")
            return
        with tag("div", classes="head"), tag("div", classes="titles"):
            tag("h1", found.name, dir="auto")
            with tag("p", classes="line gap-1 meta"):
                evaluation_badge(found.status)
                tag("a", "Agent", "link", href=agent_place(visit.context, found.agent_uuid))
                if found.job_id and view.may(Role.VIEWER):
                    tag("a", "Job", "link", href=f"/jobs/{found.job_id}")
                ago(found.created_at)
        if found.error:
            tag("p", found.error, "note failed", role="status")
        if found.status is EvaluationStatus.RUNNING:
            _show_when_ended(visit, found)
            return
        _side_by_side(visit, found)


def _show_when_ended(visit: Visit, found: Evaluation) -> None:
    """The progress of the job; the page reloads when it has ended."""
    client = context.client
    words = tag("p", "The questions are being answered.", "meta", role="status")

    async def wait() -> None:
        try:
            async for update in follow_async(visit.resources.queue, UUID(found.job_id)):
                if client.is_deleted:
                    return
                progress = getattr(update.job, "progress", None)
                if progress is not None:
                    with client:
                        words.set_text(f"The questions are being answered: {progress.message}.")
        except JobMissing:
            pass
        if not client.is_deleted:
            with client:
                ui.navigate.reload()

    task = background_tasks.create(wait(), name="evaluation")
    client.on_delete(task.cancel)


def _side_by_side(visit: Visit, found: Evaluation) -> None:
    with tag("div", classes="agents-sides", style=f"--sides: {len(found.agent_version_uuids)}"):
        for place, version in enumerate(found.agent_version_uuids):
            with tag("div", classes="card stack"):
                tag("h2", f"Version {'AB'[place]}")
                tag("p", version, "meta")
                tag("p", f"{found.passed.get(version, 0)} of {len(found.cases)} questions passed", "strong num")
        for result in found.results:
            tag("h3", str(result["question"]), "agents-question", dir="auto")
            for version in found.agent_version_uuids:
                _answer(visit, result["versions"][version])


def _answer(visit: Visit, given: dict[str, Any]) -> None:
    with tag("article", classes="card stack gap-1"):
        with tag("p", classes="line gap-1 meta"):
            badge("Passed", "done") if given["passed"] else badge("Not passed", "failed")
            tag("span", f"{given.get('total_tokens', 0):,} tokens", "num")
            if given.get("time_spent") is not None:
                tag("span", f"{given['time_spent'] / 1_000:.1f} s", "num")
            tag("a", "Run", "link", href=run_place(visit.context, given["thread_uuid"], given["run_uuid"]))
        tag("p", given["answer"] or "No answer.", "agents-text", dir="auto")
        for check in given["checks"]:
            words = f"{check['kind']}: {'passed' if check['passed'] else 'failed'}"
            tag("p", f"{words}. {check['reason']}" if check.get("reason") else words, "meta", dir="auto")
