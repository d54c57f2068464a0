"""Models of an entity for HTTP routes: what a client may give and see."""

from __future__ import annotations

from datetime import UTC, datetime
from types import new_class
from uuid import UUID

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from pydantic import Field, ValidationError

from gateleg.model import (
    Attr,
    Counter,
    DeclarationError,
    Entity,
    InputModel,
    Key,
    OutputModel,
    PatchModel,
    States,
    Table,
    Version,
    field,
    new_uuid,
    required,
    stamp,
    state,
)
from gateleg.model.errors import BadOption, ReadOnlyAttribute, WrongCompletion
from gateleg.model.planning import plan_update

tasks = Table("RouteTasks", hash="task_id")
remarks = Table("RouteRemarks", hash="remark_id")


class Status(States):
    """Where a task stands."""

    OPEN = state("open", to=["done"])
    DONE = state("done")


class Task(Entity, table=tasks, case="camel"):
    """A task of somebody."""

    task_id: Attr[UUID] = new_uuid()
    owner: Attr[str]
    title: Attr[str] = required(min_length=1, name="theTitle")
    priority: Attr[int] = field(50, ge=0, le=100)
    note: Attr[str | None] = field(None)
    origin: Attr[str] = field("web", read_only=True)
    scan_key: Attr[str] = field("", hidden=True)
    status: Attr[Status] = field(Status.OPEN)
    remarks: Attr[int] = field(0)
    created_at: Attr[datetime] = stamp(on="create")
    updated_at: Attr[datetime] = stamp(on="write")
    version: Attr[Version] = field(0)

    key = Key("{task_id}")


class Remark(Entity, table=remarks):
    """Something that was said about a task."""

    remark_id: Attr[UUID] = new_uuid()
    task_id: Attr[UUID]

    key = Key("{remark_id}")
    counted = Counter(Task.remarks)


class NewTask(InputModel[Task], exclude=["task_id", "owner"]):
    """What a client sends to create a task."""

    notify: bool = False


class TaskChanges(PatchModel[Task], exclude=["owner"]):
    """What a client sends to change a task."""


class TaskOut(OutputModel[Task]):
    """What a client sees of a task."""


def test_input_has_what_a_client_may_give() -> None:
    assert list(NewTask.model_fields) == ["title", "priority", "note", "origin", "notify"]


def test_input_becomes_an_entity_with_what_the_server_adds() -> None:
    task = NewTask.model_validate({"title": "Write", "notify": True}).entity(owner="ann")
    assert isinstance(task, Task)
    assert (task.owner, task.title, task.priority) == ("ann", "Write", 50)


@pytest.mark.parametrize(
    "body", [{}, {"title": ""}, {"title": "a", "priority": 101}, {"title": "a", "owner": "eve"}, {"title": "a", "version": 7}]
)
def test_input_keeps_the_constraints_and_refuses_the_rest(body: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        NewTask.model_validate(body)


def test_changes_are_what_was_sent() -> None:
    assert list(TaskChanges.model_fields) == ["title", "priority", "note"]
    assert TaskChanges().actions() == []
    changes = plan_update(
        Task.key(task_id=UUID(int=1)), TaskChanges.model_validate({"priority": 3, "note": None}).actions(), now=datetime.now(UTC)
    )
    assert changes.parameters["UpdateExpression"].startswith("SET")
    assert "REMOVE" in changes.parameters["UpdateExpression"]


def test_null_for_a_required_attribute_is_refused() -> None:
    with pytest.raises(ValidationError, match="title"):
        TaskChanges.model_validate({"title": None})


def test_output_hides_what_is_hidden() -> None:
    seen = TaskOut.of(Task(owner="ann", title="Write", scan_key="secret"))
    assert "scan_key" not in seen.model_dump()
    assert seen.model_dump(mode="json")["status"] == "open"


def test_output_of_an_item_that_violates_a_newer_bound_is_shown() -> None:
    task = Task(owner="ann", title="Write")
    task.__dict__["priority"] = 200
    assert TaskOut.of(task).model_dump()["priority"] == 200


def test_models_serve_fastapi_routes() -> None:
    app = FastAPI()

    @app.post("/tasks")
    def create(body: NewTask) -> TaskOut:
        return TaskOut.of(body.entity(owner="ann"))

    client = TestClient(app)
    assert client.post("/tasks", json={"title": "Write"}).json()["owner"] == "ann"
    assert client.post("/tasks", json={"title": "Write", "owner": "eve"}).status_code == 422
    assert {"NewTask", "TaskOut"} <= set(client.get("/openapi.json").json()["components"]["schemas"])


def test_model_may_name_what_it_has() -> None:
    class Title(PatchModel[Task], include=["title"]):
        """One attribute."""

    assert list(Title.model_fields) == ["title"]
    with pytest.raises(ValidationError):
        Title.model_validate({"priority": 3})


@pytest.mark.parametrize("options", [{"exclude": ["ownr"]}, {"include": ["ownr"]}])
def test_misspelt_attribute_is_refused(options: dict[str, list[str]]) -> None:
    with pytest.raises(BadOption, match=r"ownr.*owner"):
        new_class("Bad", (InputModel[Task],), options)


def test_a_model_of_no_entity_is_refused() -> None:
    with pytest.raises(BadOption, match=r"class Nothing\(InputModel\[TheEntity\]\)"):
        new_class("Nothing", (InputModel,))


@pytest.mark.parametrize(
    ("values", "words"), [({}, r"needs owner for Task.*\.entity\(owner=\.\.\.\)"), ({"ownr": "ann"}, "Did you mean 'owner'")]
)
def test_what_a_route_forgets_is_not_taken_for_a_mistake_of_the_client(values: dict[str, str], words: str) -> None:
    with pytest.raises(WrongCompletion, match=words) as refused:
        NewTask.model_validate({"title": "x"}).entity(**values)
    assert refused.value.status == 500


def test_options_without_an_entity_are_refused() -> None:
    with pytest.raises(BadOption, match=r"class Bad\(InputModel\[TheEntity\], \.\.\.\)"):
        new_class("Bad", (InputModel,), {"exclude": ["owner"]})


def test_model_of_something_else_is_refused() -> None:
    with pytest.raises(DeclarationError, match="needs an entity"):
        InputModel[int]  # type: ignore[type-var]


def test_attribute_that_pydantic_freezes_is_read_only() -> None:
    class Frozen(Entity, table=Table("RouteFrozen", hash="id")):
        """With pydantic's own field."""

        id: Attr[int]
        once: Attr[int] = Field(frozen=True)

        key = Key("{id}")

    with pytest.raises(ReadOnlyAttribute, match=r"Frozen\.once"):
        plan_update(Frozen.key(id=1), [Frozen.once.set(2)], now=datetime.now(UTC))
