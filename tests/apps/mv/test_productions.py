"""A project as the studio sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

from gateleg.apps.mv.productions import Production
from gateleg.apps.mv.tables import Project, Scene

if TYPE_CHECKING:
    from gateleg.apps.mv.drawing.looks import Library


def production(*scenes: dict[str, Any], seed: int = 7) -> Production:
    project = Project(project_id=uuid4(), owner_id="/ann", concept_prompt="a robot in the city", seed=seed)
    made = [
        Scene(project_id=project.project_id, sequence=number, prompt="a robot in the city at night", duration=2.0, **{"plan": {}, **scene})
        for number, scene in enumerate(scenes, 1)
    ]
    return Production.of(project, made, None)


def seed_of(made: Production, library: Library, at: int = 0) -> int:
    return made.order(library, at).scene.seed


def test_each_take_of_a_scene_is_drawn_from_another_seed(library: Library) -> None:
    takes = [production({"take": number, "last_take": number}) for number in range(4)]
    assert len({seed_of(take, library) for take in takes}) == 4
    assert [take.next_seed(0) for take in takes] == [7, 8, 9, 10]


def test_a_scene_with_a_seed_is_drawn_from_it_every_time(library: Library) -> None:
    fixed = [production({"seed": 9, "take": number, "last_take": number}) for number in range(3)]
    assert {seed_of(take, library) for take in fixed} == {seed_of(production({"take": 2, "last_take": 2}), library)}


def test_a_transition_shows_the_take_that_plays_before(library: Library) -> None:
    dissolve = {"plan": {"transition": "dissolve", "overlap": 6.0}}
    before = production({"take": 2, "last_take": 3}, dissolve).order(library, 1).before
    assert before is not None
    assert before.seed == seed_of(production({"take": 1, "last_take": 1}), library)
