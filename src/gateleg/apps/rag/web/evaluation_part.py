"""The Evaluation tab of a collection: golden sets, runs, and a form that measures up to two configurations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui
from pydantic import BaseModel
from pydantic import Field as Described

from gateleg.apps.rag.access import Action
from gateleg.apps.rag.evaluating.question_lines import parse_questions
from gateleg.apps.rag.evaluating.service import Configuration, SetDraft, create_set, delete_set, start_evaluation
from gateleg.apps.rag.evaluating.tables import EvaluationRun, GoldenQuestion, GoldenSet
from gateleg.apps.rag.subjects import Subject
from gateleg.apps.rag.web.run_part import run_part
from gateleg.apps.rag.web.visit import do
from gateleg.web.console.components import (
    Column,
    Field,
    Grid,
    ModelForm,
    Row,
    Topic,
    address,
    ago_cell,
    button,
    confirm,
    empty,
    follow,
    pager,
    section,
    tag,
    trouble,
)
from gateleg.web.console.member_jobs import jobs_address

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from gateleg.apps.rag.web.visit import Visit

MODES = (("hybrid", "Words and meaning"), ("vector", "Meaning"), ("keyword", "Words"))
_SETS = (Column("name", "Golden set"), Column("questions", "Questions", right=True), Column("origin", "Origin"), Column("made", "Made"))
_RUNS = (Column("set", "Run"), Column("ways", "Configurations"), Column("ndcg", "nDCG", right=True), Column("made", "Finished"))
_QUESTIONS = (
    Column("question", "Question"),
    Column("documents", "Documents", right=True),
    Column("answer", "Answer", desk=True),
)
_SIZE = 50
#: Seconds between two refreshes of the runs.
_REFRESH_SECONDS = 2.0


class SetForm(BaseModel):
    """The form for a new golden set."""

    name: str = Described(title="Name", min_length=1, max_length=100)
    make: int = Described(default=20, title="Questions to generate from the documents", ge=0, le=1_000)
    lines: list[str] = Described(
        default_factory=list,
        title="Your own questions",
        description="one per line: question | documents that answer it, separated by ; | expected answer",
    )

    def draft(self) -> SetDraft:
        """The golden set as a request."""
        return SetDraft(name=self.name, make=self.make, questions=parse_questions(self.lines))


async def evaluation_part(visit: Visit, chosen: str, cursor: str) -> None:
    """Show the golden set or run that `chosen` names (`set:ID`, `run:ID`), or all of them."""
    kind, _, name = chosen.partition(":")
    if kind == "set" and await _one_set(visit, name, cursor):
        return
    if kind == "run":
        run = await visit.resources.store.find(EvaluationRun, **_ids(visit), run_id=name)
        if run is not None:
            tag("a", "All evaluations", "link meta", href=here(visit))
            run_part(run)
            return
    await _everything(visit)


def here(visit: Visit, chosen: str = "") -> str:
    """The address of the tab."""
    return address(visit.here, {"tab": "evaluate"} | ({"item": chosen} if chosen else {}))


def _ids(visit: Visit) -> dict[str, Any]:
    found = visit.opened.collection
    return {"repository_id": found.repository_id, "collection_id": found.collection_id}


async def _everything(visit: Visit) -> None:
    store = visit.resources.store
    sets = list(await store.page(GoldenSet.of_collection(**_ids(visit)), limit=_SIZE))

    async def load() -> list[EvaluationRun]:
        return list(await store.page(EvaluationRun.of_collection(**_ids(visit)), limit=_SIZE))

    first = await load()
    with section("Golden sets"):
        if sets:
            Grid("Golden sets", _SETS, [_set_row(visit, one) for one in sets])
        else:
            empty(
                "check",
                "No golden sets yet",
                "A golden set contains questions and the documents that answer them, to measure searches with.",
            )
    if sets:
        _new_run(visit, sets)
    with section("Runs"):
        grid = Grid("Runs", _RUNS, [_run_row(visit, one) for one in first])
        nothing = empty("clock", "No runs yet", "Runs are listed here when they are finished.")

    def show(runs: list[EvaluationRun]) -> None:
        grid.show([_run_row(visit, one) for one in runs])
        grid.set_visibility(bool(runs))
        nothing.set_visibility(not runs)

    show(first)
    follow(visit.view.live, Topic(("rag-runs", *_ids(visit).values()), load, _REFRESH_SECONDS), show)
    if visit.caller.may(Action.CHANGE_COLLECTION, visit.opened.repository, visit.opened.collection):
        _new_set(visit)


def _new_set(visit: Visit) -> None:
    async def make(form: SetForm) -> None:
        golden = await create_set(visit.resources, visit.caller.principal, **_ids(visit), draft=form.draft())
        ui.navigate.to(here(visit, f"set:{golden.set_id}"))

    with section("New golden set"):
        ModelForm(SetForm, make, submit="Create")


async def _one_set(visit: Visit, set_id: str, cursor: str) -> bool:
    """Show a golden set with its questions. Return False if it does not exist."""
    store = visit.resources.store
    golden = await store.find(GoldenSet, **_ids(visit), set_id=set_id)
    if golden is None:
        return False
    page = await store.page(GoldenQuestion.of_set(**_ids(visit), set_id=set_id), limit=_SIZE, cursor=cursor or None)
    tag("a", "All golden sets", "link meta", href=here(visit))
    with section(golden.name):
        origin = "generated from the documents" if golden.origin == "made" else "written"
        tag("p", f"{golden.questions:,} questions, {origin} by {golden.created_by}", "meta")
        Grid("Questions", _QUESTIONS, [_question_row(one) for one in page])
        state = {"tab": "evaluate", "item": f"set:{set_id}"}
        pager(visit.here, state, cursor=cursor or None, following=page.next, shown=len(page.items))
        if visit.caller.may(Action.CHANGE_COLLECTION, visit.opened.repository, visit.opened.collection):

            async def delete() -> None:
                if await confirm("Delete this golden set?", "Its questions are removed. Its runs are kept.", verb="Delete"):
                    principal = visit.caller.principal
                    await do(
                        visit.view, lambda: delete_set(visit.resources, principal, **_ids(visit), set_id=set_id), "Deleted", here(visit)
                    )

            button("Delete", delete, icon="delete", look="small danger")
    return True


async def _delete(visit: Visit, set_id: str) -> None:
    await delete_set(visit.resources, visit.caller.principal, **_ids(visit), set_id=set_id)


def _new_run(visit: Visit, sets: Sequence[GoldenSet]) -> None:
    """Show a form that starts a job to measure one or two configurations."""
    with section("Measure"), tag("div", classes="card stack gap-2"):
        with tag("div", classes="fields"):
            golden = Field("Golden set", sets[0].set_id, kind="choice", choices=[(one.set_id, one.name) for one in sets])
            depth = Field("Documents to measure (k)", "10", kind="number", least=1, most=25, hint="the first k of each search")
        with tag("div", classes="fields"):
            first = _ConfigurationFields("First configuration", "hybrid", MODES)
            second = _ConfigurationFields("Second configuration", "vector", (("", "none"), *MODES))
        answers = Field("Also answer the questions", value=False, kind="tick")
        with tag("div"):
            button("Measure", lambda: start(), icon="play_arrow", look="first")
        outcome = tag("div", classes="fill", aria_live="polite")

    async def start() -> None:
        outcome.clear()
        try:
            configurations = [one for one in (first.configuration(), second.configuration()) if one is not None]
            if len({one.name for one in configurations}) < len(configurations):
                configurations[1] = configurations[1].model_copy(update={"name": f"{configurations[1].name} (2)"})
            found = visit.opened.collection
            place = Subject(found.repository_id, found.collection_id)
            _, job_id = await start_evaluation(
                visit.resources,
                visit.caller.principal,
                place,
                golden.text,
                configurations,
                k=min(25, max(1, int(depth.text or "10"))),
                answers=bool(answers.value),
            )
        except Exception as error:
            with outcome:
                trouble(error)
            return
        with outcome, tag("p", classes="note line gap-1"):
            tag("span", "The run has started. It is listed below when it is finished.")
            tag("a", "Progress", "link", href=f"{jobs_address('rag')}/{job_id}")


class _ConfigurationFields:
    """The fields of one configuration."""

    def __init__(self, title: str, mode: str, modes: Sequence[tuple[str, str]]) -> None:
        with tag("fieldset", classes="rag-way"):
            tag("legend", title)
            with tag("div", classes="fields"):
                self._mode = Field("By", mode, kind="choice", choices=modes)
                self._fusion = Field("Combined", "weighted", kind="choice", choices=(("weighted", "by scores"), ("rrf", "by ranks (RRF)")))
                self._weight = Field("Weight of meaning", "", kind="number", least=0, most=1, hint="0 to 1; the default when empty")
                again = (("", "default"), ("yes", "yes"), ("no", "no"))
                self._feedback = Field("Relevance feedback", "", kind="choice", choices=again)

    def configuration(self) -> Configuration | None:
        """The chosen configuration; None for none."""
        mode = self._mode.text
        if not mode:
            return None
        request: dict[str, Any] = {"searchMode": mode}
        words = [mode]
        if mode == "hybrid":
            request["fusion"] = self._fusion.text
            words += ["RRF"] if self._fusion.text == "rrf" else []
            if self._weight.text:
                request["vectorWeight"] = float(self._weight.text)
                words.append(f"weight {self._weight.text}")
        if self._feedback.text:
            request["feedback"] = self._feedback.text == "yes"
            words.append("feedback" if self._feedback.text == "yes" else "no feedback")
        return Configuration(name=", ".join(words), request=request)


def _set_row(visit: Visit, one: GoldenSet) -> Row:
    origin = "generated from the documents" if one.origin == "made" else "written"
    cells = {"name": one.name, "questions": f"{one.questions:,}", "origin": origin, "made": ago_cell(one.created_at)}
    return Row(one.set_id, cells, href=here(visit, f"set:{one.set_id}"))


def _run_row(visit: Visit, one: EvaluationRun) -> Row:
    ways, ndcg = " / ".join(result.name for result in one.results), " / ".join(f"{result.ndcg:.3f}" for result in one.results)
    cells = {"set": one.set_name, "ways": ways, "ndcg": ndcg, "made": ago_cell(one.created_at)}
    return Row(one.run_id, cells, href=here(visit, f"run:{one.run_id}"))


def _question_row(one: GoldenQuestion) -> Row:
    cells = {"question": one.question, "documents": f"{len(one.documents)}", "answer": one.answer or ""}
    return Row(str(one.number), cells)
