"""Music videos in a single table: four access patterns, and consistent counters and indexes."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from gateleg.store import IllegalTransition, LostRace, NotFound, Store, create, patch
from tests.model.seeds.mv import Project, ProjectStatus, Scene, SceneStatus, project_with_scenes, projects

START = datetime(2025, 6, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _tables(store: Store) -> None:
    store.create_tables(projects)


def project(**values: object) -> Project:
    return Project(**{"concept_prompt": "Rain on neon", "character_description": "A dancer", **values})  # type: ignore[arg-type]


def scene(of: UUID, sequence: int) -> Scene:
    return Scene(project_id=of, sequence=sequence, prompt=f"Scene {sequence}", duration=4.5)


def test_pattern_one_gets_a_project(store: Store) -> None:
    stored = store.create(project())
    assert store.get(Project, project_id=stored.project_id) == stored


def test_pattern_two_lists_the_scenes_of_a_project_in_order(store: Store) -> None:
    one, other = store.create(project()), store.create(project())
    for sequence in (10, 2, 1):
        store.create(scene(one.project_id, sequence))
    store.create(scene(other.project_id, 1))
    assert [found.sequence for found in store.query(Scene.in_project, project_id=one.project_id)] == [1, 2, 10]


def test_scenes_can_be_asked_for_by_a_range_of_numbers(store: Store) -> None:
    one = store.create(project())
    store.transact([create(scene(one.project_id, sequence)) for sequence in range(1, 13)])
    question = Scene.in_project(project_id=one.project_id).where(Scene.sequence.between(3, 7))
    assert [found.sequence for found in store.query(question)] == [3, 4, 5, 6, 7]


def test_patterns_three_and_four_list_projects_by_status_in_both_orders(store: Store) -> None:
    made = [store.create(project(created_at=START + timedelta(days=day))) for day in range(3)]
    store.patch(made[1], Project.status.to(ProjectStatus.QUEUED))
    pending = [made[0].project_id, made[2].project_id]
    assert [found.project_id for found in store.query(Project.by_status, status="pending")] == pending
    assert [found.project_id for found in store.query(Project.recent, status="pending")] == pending[::-1]
    assert [found.project_id for found in store.query(Project.recent, status="queued")] == [made[1].project_id]


def test_project_and_scenes_are_one_query(store: Store) -> None:
    one = store.create(project())
    store.create(scene(one.project_id, 1))
    both = store.collect(project_with_scenes, project_id=one.project_id)
    found = both.one(Project)
    assert found is not None
    assert found.scene_count == 1
    assert [each.sequence for each in both.of(Scene)] == [1]


def test_counters_follow_the_scenes(store: Store) -> None:
    one = store.create(project())
    first, second = store.create(scene(one.project_id, 1)), store.create(scene(one.project_id, 2))
    first = store.patch(first, Scene.status.to(SceneStatus.PROCESSING))
    store.patch(first, Scene.status.to(SceneStatus.COMPLETED), Scene.video_clip_s3_key.set("mv/clips/1.mp4"))
    store.patch(second, Scene.status.to(SceneStatus.FAILED), Scene.error_message.set("no credit"))
    counted = store.get(one)
    assert (counted.scene_count, counted.completed_scenes, counted.failed_scenes) == (2, 1, 1)


def test_project_and_scenes_are_created_together_with_a_correct_counter(store: Store) -> None:
    one = project()
    with store.transaction() as tx:
        tx.create(one)
        for sequence in range(1, 4):
            tx.create(scene(one.project_id, sequence))
    assert tx.results[0].scene_count == 3
    assert store.get(one).scene_count == 3


def test_parent_can_be_patched_in_the_transaction_that_changes_its_counter(store: Store) -> None:
    one = store.create(project())
    store.transact([patch(one, Project.status.to(ProjectStatus.GENERATING_SCENES)), create(scene(one.project_id, 1))])
    found = store.get(one)
    assert (found.status, found.scene_count) == (ProjectStatus.GENERATING_SCENES, 1)


def test_scene_without_a_project_is_refused(store: Store) -> None:
    with pytest.raises(NotFound, match=r"Project\.scene_count cannot count"):
        store.create(scene(uuid4(), 1))


def test_deleting_all_scenes_resets_the_counters(store: Store) -> None:
    one = store.create(project())
    for sequence in range(1, 4):
        store.create(scene(one.project_id, sequence))
    assert store.delete_all(Scene.in_project, project_id=one.project_id) == 3
    assert store.get(one).scene_count == 0


def test_stale_scene_is_not_deleted_with_counters_it_no_longer_has(store: Store) -> None:
    one = store.create(project())
    stale = store.create(scene(one.project_id, 1))
    fresh = store.patch(stale, Scene.status.to(SceneStatus.FAILED))
    with pytest.raises(LostRace) as caught:
        store.delete(stale)
    assert caught.value.current == fresh
    store.delete(fresh)
    counted = store.get(one)
    assert (counted.scene_count, counted.failed_scenes) == (0, 0)


def test_illegal_transition_names_the_allowed_states(store: Store) -> None:
    one = store.create(project())
    with pytest.raises(IllegalTransition, match=r"cannot go from pending to completed\. Only composing can move to completed") as caught:
        store.patch(one, Project.status.to(ProjectStatus.COMPLETED))
    assert caught.value.current == one
    assert caught.value.failed == {"status"}


def test_stale_project_loses_the_race(store: Store) -> None:
    stale = store.create(project())
    fresh = store.patch(stale, Project.concept_prompt.set("Snow"))
    with pytest.raises(LostRace) as caught:
        store.patch(stale, Project.concept_prompt.set("Fog"))
    assert caught.value.current == fresh
