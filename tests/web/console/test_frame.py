from typing import Any

import pytest

from gateleg.host import Principal, Role
from gateleg.host.errors import NotAllowed
from gateleg.web.console import View


def view(role: Role) -> View:
    nothing: Any = None
    return View(nothing, Principal("ana", role), nothing)


def test_a_viewer_is_refused_what_needs_an_operator() -> None:
    with pytest.raises(NotAllowed, match="operator"):
        view(Role.VIEWER).require(Role.OPERATOR)


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.ADMIN])
def test_who_has_the_role_or_one_above_it_is_not_refused(role: Role) -> None:
    view(role).require(Role.OPERATOR)
    assert view(role).may(Role.OPERATOR)
