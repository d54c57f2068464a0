"""Who may see and change what."""

import pytest

from gateleg.apps.mv.rules import check_changeable, check_visible, may_change, may_see, to_render
from gateleg.apps.mv.tables import Project, Scene, SceneStatus
from gateleg.host import Principal, Role
from gateleg.host.errors import NotAllowed, Unknown

ANN = Principal("ann", Role.MEMBER)


def project_of(principal: Principal) -> Project:
    return Project(owner_id=principal.owner, concept_prompt="Robot")


@pytest.mark.parametrize(
    ("other", "sees", "changes"),
    [
        (ANN, True, True),
        (Principal("bob", Role.MEMBER), False, False),
        (Principal("ann", Role.MEMBER, tenant="acme"), False, False),
        (Principal("eve", Role.VIEWER), True, False),
        (Principal("eve", Role.OPERATOR), True, True),
    ],
)
def test_projects_belong_to_whoever_made_them(other: Principal, sees: bool, changes: bool) -> None:
    project = project_of(ANN)
    assert (may_see(other, project.owner_id), may_change(other, project.owner_id)) == (sees, changes)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (Principal("b/c", Role.MEMBER, tenant="a"), Principal("c", Role.MEMBER, tenant="a/b")),
        (Principal("a/b", Role.MEMBER), Principal("b", Role.MEMBER, tenant="a")),
        (Principal("a%2Fb", Role.MEMBER), Principal("a/b", Role.MEMBER)),
    ],
)
def test_no_two_callers_are_one_owner(one: Principal, two: Principal) -> None:
    assert one.owner != two.owner


def test_what_is_hidden_and_what_is_missing_are_refused_alike() -> None:
    with pytest.raises(Unknown) as hidden:
        check_visible(Principal("bob", Role.MEMBER), project_of(ANN), "project x")
    with pytest.raises(Unknown) as missing:
        check_visible(ANN, None, "project x")
    assert str(hidden.value) == str(missing.value)


def test_viewers_look_only() -> None:
    with pytest.raises(NotAllowed):
        check_changeable(Principal("eve", Role.VIEWER), project_of(ANN))


def test_what_is_rendered_again_is_what_has_no_clip_what_is_selected_or_all_that_is_not_locked() -> None:
    project = project_of(ANN)
    states = (SceneStatus.COMPLETED, SceneStatus.FAILED, SceneStatus.COMPLETED, SceneStatus.COMPLETED)
    scenes = [
        Scene(project_id=project.project_id, sequence=number, prompt="p", duration=4.0, status=status, locked=number == 4)
        for number, status in enumerate(states, 1)
    ]

    def rendered(again: bool, *only: int) -> list[int]:
        return [scene.sequence for scene in to_render(scenes, again, only)]

    assert rendered(False) == [2]
    assert rendered(True) == [1, 2, 3]
    assert rendered(False, 3) == rendered(True, 3) == [2, 3]
