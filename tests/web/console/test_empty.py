"""Empty states with a drawing of the console, or with any Material icon, as in the navigation."""

from collections.abc import Iterator

import pytest
from nicegui import Client, ui
from starlette.requests import Request

from gateleg.web.console.failures import PICTURES, empty

SCOPE = {"type": "http", "path": "/", "query_string": b"", "headers": [], "server": ("127.0.0.1", 8000)}


@pytest.fixture
def client() -> Iterator[Client]:
    """A page that is being built."""
    client = Client(ui.page("/"), request=Request(SCOPE))
    yield client
    client.delete()


@pytest.mark.parametrize("name", PICTURES)
def test_a_drawing_by_name(client: Client, name: str) -> None:
    with client:
        made = empty(name, "Nothing here", "Add one.")
    (drawn,) = (element for element in made.descendants() if isinstance(element, ui.html))
    assert drawn.content.startswith("<svg")


def test_a_material_icon_by_name(client: Client) -> None:
    with client:
        made = empty("terrain", "No gyms", "Add one.")
    (icon,) = (element for element in made.descendants() if isinstance(element, ui.icon))
    assert icon.name == "terrain"


def test_the_docs_name_every_drawing() -> None:
    assert all(f'"{name}"' in (empty.__doc__ or "") for name in PICTURES)
