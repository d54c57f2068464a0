"""State machines check their declarations, and know their transitions."""

import pytest

from gateleg.model import ANY, States, state
from gateleg.model.errors import BadStates


class Door(States):
    SHUT = state("shut", to=["open"])
    OPEN = state("open", to=["shut"])
    BROKEN = state("broken", from_=ANY)


def test_a_state_knows_its_successors_and_predecessors() -> None:
    assert Door.SHUT.successors == {Door.OPEN, Door.BROKEN}
    assert Door.BROKEN.predecessors == {Door.SHUT, Door.OPEN}


def test_a_state_is_its_text() -> None:
    assert {"shut": 1}[Door.SHUT] == 1
    assert str(Door.SHUT) == "shut"
    assert Door("open") is Door.OPEN


def test_a_state_from_which_nothing_follows_is_final() -> None:
    assert Door.BROKEN.final
    assert not Door.SHUT.final


def test_only_declared_moves_are_legal() -> None:
    assert Door.SHUT.may_become(Door.OPEN)
    assert not Door.BROKEN.may_become(Door.OPEN)


def test_a_member_without_transitions_is_refused() -> None:
    with pytest.raises(BadStates, match="queued"):

        class _(States):
            PENDING = state("pending")
            QUEUED = "queued"


def test_an_unreachable_state_is_refused() -> None:
    with pytest.raises(BadStates, match="cannot be reached"):

        class _(States):
            PENDING = state("pending")
            QUEUED = state("queued", to=["pending"])


def test_an_unknown_neighbour_is_refused() -> None:
    with pytest.raises(BadStates, match="refers to done"):

        class _(States):
            PENDING = state("pending", to=["done"])
