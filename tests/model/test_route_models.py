"""Models of an entity for HTTP routes: bodies and responses."""

from __future__ import annotations

from datetime import UTC, datetime
from types import new_class
from typing import Any
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
    """The status of a task."""

    OPEN = state("open", to=["done"])
    DONE = state("done")


class Task(Entity, table=tasks, case="camel"):
    """A task with an owner."""

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
    """A remark about a task."""

    remark_id: Attr[UUID] = new_uuid()
    task_id: Attr[UUID]

    key = Key("{remark_id}")
    counted = Counter(Task.remarks)


class NewTask(InputModel[Task], exclude=["task_id", "owner"]):
    """The body that creates a task."""

    notify: bool = False


class TaskChanges(PatchModel[Task], exclude=["owner"]):
    """The body that changes a task."""


class TaskOut(OutputModel[Task]):
    """The response for a task."""


def test_an_input_model_has_the_attributes_that_clients_may_send() -> None:
    assert list(NewTask.model_fields) == ["title", "priority", "note", "origin", "notify"]


def test_an_input_model_becomes_an_entity_with_values_of_the_server() -> None:
    task = NewTask.model_validate({"title": "Write", "notify": True}).entity(owner="ann")
    assert isinstance(task, Task)
    assert (task.owner, task.title, task.priority) == ("ann", "Write", 50)


@pytest.mark.parametrize(
    "body", [{}, {"title": ""}, {"title": "a", "priority": 101}, {"title": "a", "owner": "eve"}, {"title": "a", "version": 7}]
)
def test_an_input_model_keeps_constraints_and_refuses_other_fields(body: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        NewTask.model_validate(body)


def test_a_patch_model_contains_the_sent_attributes() -> None:
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


def test_an_output_model_omits_hidden_attributes() -> None:
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


def test_a_model_may_include_attributes_by_name() -> None:
    class Title(PatchModel[Task], include=["title"]):
        """One attribute."""

    assert list(Title.model_fields) == ["title"]
    with pytest.raises(ValidationError):
        Title.model_validate({"priority": 3})


@pytest.mark.parametrize("options", [{"exclude": ["ownr"]}, {"include": ["ownr"]}])
def test_misspelt_attribute_is_refused(options: dict[str, list[str]]) -> None:
    with pytest.raises(BadOption, match=r"ownr.*owner"):
        new_class("Bad", (InputModel[Task],), options)


@pytest.mark.parametrize(
    ("model", "name", "reason"),
    [
        (PatchModel[Task], "task_id", "it is part of the primary key"),
        (PatchModel[Task], "status", "a state changes by transitions only"),
        (PatchModel[Task], "origin", "it is read-only"),
        (InputModel[Task], "version", "the store sets it"),
        (InputModel[Task], "scan_key", "it is hidden"),
        (PatchModel[Remark], "remark_id", "it is part of the primary key"),
    ],
)
def test_the_reason_why_a_model_does_not_have_an_attribute(model: Any, name: str, reason: str) -> None:
    with pytest.raises(BadOption, match=f"has no '{name}' to include or exclude: {reason}"):
        new_class("Bad", (model,), {"include": [name]})


@pytest.mark.parametrize("option", ["include", "exclude"])
def test_a_text_in_place_of_a_list_of_attributes_is_refused(option: str) -> None:
    with pytest.raises(BadOption, match=rf"Write {option}=\['title'\]"):
        new_class("Bad", (InputModel[Task],), {option: "title"})


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


def test_an_attribute_frozen_by_pydantic_is_read_only() -> None:
    class Frozen(Entity, table=Table("RouteFrozen", hash="id")):
        """An entity with pydantic's `Field`."""

        id: Attr[int]
        once: Attr[int] = Field(frozen=True)

        key = Key("{id}")

    with pytest.raises(ReadOnlyAttribute, match=r"Frozen\.once"):
        plan_update(Frozen.key(id=1), [Frozen.once.set(2)], now=datetime.now(UTC))
