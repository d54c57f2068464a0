"""Counters and markers in one transaction, with one entry for each item."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any
from uuid import uuid4

import pytest

from gateleg.plain import FAST_PATHS, is_plain
from gateleg.store import Store, TransactionCanceled, UniqueTaken, create, delete, patch
from gateleg.store.errors import DuplicateTarget
from gateleg.store.operations.operation import item_key
from tests.model.seeds.mv import Project, Scene, SceneStatus, projects
from tests.store.counting import Shelf, Volume, shelves
from tests.store.doubles import play, quiet_setup
from tests.store.notes import Title, titles


def scene(of: Any, sequence: int, status: SceneStatus = SceneStatus.PENDING) -> Scene:
    return Scene(project_id=of, sequence=sequence, prompt="p", duration=1, status=status)


@pytest.fixture
def store(memory: Store) -> Store:
    memory.create_tables(projects, titles)
    return memory


def new_project(store: Store) -> Project:
    return store.create(Project(concept_prompt="p", character_description="c"))


def test_keys_compare_numbers_by_value() -> None:
    assert item_key("t", {"n": {"N": "1"}}) == item_key("t", {"n": {"N": "1.0"}})
    assert item_key("t", {"n": {"N": "1"}}) != item_key("t", {"n": {"S": "1"}})
    assert item_key("t", {"a": {"S": "1"}, "b": {"S": "2"}}) == item_key("t", {"b": {"S": "2"}, "a": {"S": "1"}})


def test_two_counters_of_one_parent_are_one_update(store: Store) -> None:
    project = new_project(store)
    played = play(create(scene(project.project_id, 1, SceneStatus.COMPLETED)).flow(quiet_setup()), [{}])
    entries = played.requests[0].payload["TransactItems"]
    assert [next(iter(entry)) for entry in entries] == ["Put", "Update"]
    store.create(scene(project.project_id, 1, SceneStatus.COMPLETED))
    counted = store.get(project)
    assert (counted.scene_count, counted.completed_scenes) == (1, 1)


def test_counts_of_several_operations_add_up(store: Store) -> None:
    project = new_project(store)
    store.transact([create(scene(project.project_id, number)) for number in range(1, 6)])
    assert store.get(project).scene_count == 5


def test_counts_that_cancel_out_are_still_right(store: Store) -> None:
    project = new_project(store)
    old = store.create(scene(project.project_id, 1))
    store.transact([delete(old), create(scene(project.project_id, 2))])
    assert store.get(project).scene_count == 1


def test_counter_is_merged_with_an_update_that_adds_to_it(store: Store) -> None:
    store.create_tables(shelves)
    shelf = store.create(Shelf(shelf="a"))
    store.transact([patch(shelf.key, Shelf.visits.add(2)), create(Volume(shelf="a", number=1))])
    counted = store.get(shelf)
    assert (counted.volumes, counted.visits) == (1, 2)


def test_two_writes_of_one_item_are_an_error_that_names_it(store: Store) -> None:
    project = new_project(store)
    with pytest.raises(DuplicateTarget, match=r"Operations 1 and 2 both write Project\("):
        store.transact([delete(project), patch(project, Project.concept_prompt.set("x"))])


def test_item_cannot_enter_a_parent_that_is_deleted_with_it(store: Store) -> None:
    project = new_project(store)
    with pytest.raises(DuplicateTarget, match=r"Operation 2 .* counted in Project\(.*operation 1 deletes"):
        store.transact([delete(project), create(scene(project.project_id, 1))])


def test_reason_of_a_shared_counter_reaches_all_its_operations(store: Store) -> None:
    from gateleg.store import NotFound

    orphan = uuid4()
    with pytest.raises(TransactionCanceled) as caught:
        store.transact([create(scene(orphan, 1)), create(scene(orphan, 2))])
    assert [type(reason) for reason in caught.value.reasons] == [NotFound, NotFound]


def test_unique_value_cannot_be_taken_twice_in_one_transaction(store: Store) -> None:
    with pytest.raises(DuplicateTarget, match=r"hold Title\.once"):
        store.transact([create(Title(id="1", title="x")), create(Title(id="2", title="x"))])


def test_a_unique_value_is_handed_from_one_item_to_another_in_one_transaction(store: Store) -> None:
    first = store.create(Title(id="1", title="x"))
    store.transact([delete(first), create(Title(id="2", title="x"))])
    with pytest.raises(UniqueTaken):
        store.create(Title(id="3", title="x"))
    store.delete(store.get(Title, id="2"))
    store.create(Title(id="3", title="x"))


def test_a_unique_value_is_not_handed_over_by_an_item_that_does_not_own_it(store: Store) -> None:
    first = store.create(Title(id="1", title="x"))
    store.delete(first)
    store.create(Title(id="2", title="x"))
    with pytest.raises(TransactionCanceled):
        store.transact([delete(first), create(Title(id="3", title="x"))])
    assert store.find(Title, id="3") is None


@pytest.mark.skipif(any(map(is_plain, FAST_PATHS)), reason="the fast paths save most of the calls")
def test_a_counter_write_enters_few_functions(store: Store) -> None:
    # `bench/verbs.py --walk` shows which.
    project = new_project(store)
    scenes = [store.create(scene(project.project_id, number, SceneStatus.PROCESSING)) for number in range(3)]

    def calls(write: Callable[[Scene], Any], number: int) -> int:
        entered = 0

        def count(frame: FrameType, event: str, argument: Any) -> None:
            nonlocal entered
            entered += event == "call" and "gateleg" in frame.f_code.co_filename

        sys.setprofile(count)
        try:
            write(scenes[number])
        finally:
            sys.setprofile(None)
        return entered

    patches = [calls(lambda one: store.patch(one, Scene.status.to(SceneStatus.COMPLETED)), number) for number in range(3)]
    assert min(patches) < 300
    creates = [calls(lambda one: store.create(one.model_copy(update={"sequence": one.sequence + 9})), number) for number in range(3)]
    assert min(creates) < 250
