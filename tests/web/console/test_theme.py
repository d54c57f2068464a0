import pytest

from gateleg.web.console.theme import DARK, LIGHT, contrast, tokens_css

TEXTS = ("text", "muted", "faint", "link", *(f"{kind}-text" for kind in ("waiting", "running", "done", "failed", "cancelled", "warning")))


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("ground", ["page", "surface", "raised", "hover"])
def test_texts_can_be_read_on_every_surface(palette: dict[str, str], text: str, ground: str) -> None:
    assert contrast(palette[text], palette[ground]) >= 4.5


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(("ink", "ground"), [("on-primary", "primary"), ("on-danger", "danger"), ("muted", "sunken"), ("text", "sunken")])
def test_buttons_and_sunken_surfaces_can_be_read(palette: dict[str, str], ink: str, ground: str) -> None:
    assert contrast(palette[ink], palette[ground]) >= 4.5


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("part", ["control-line", "focus"])
def test_edges_of_controls_can_be_seen(palette: dict[str, str], part: str) -> None:
    assert contrast(palette[part], palette["surface"]) >= 3


def test_the_status_colours_are_those_of_the_brief() -> None:
    wanted = {
        "waiting": "#6B7280",
        "running": "#0072B2",
        "done": "#009E73",
        "failed": "#D55E00",
        "cancelled": "#7A5C99",
        "warning": "#E69F00",
    }
    assert {name: LIGHT[name] for name in wanted} == wanted


def test_both_palettes_name_the_same_colours() -> None:
    assert set(LIGHT) == set(DARK)


def test_contrast_of_black_and_white_is_21() -> None:
    assert round(contrast("#000000", "#FFFFFF"), 3) == round(contrast("#FFFFFF", "#000000"), 3) == 21


def test_the_variables_hold_every_colour() -> None:
    css = tokens_css()
    assert all(f"--{name}:{value};" in css for palette in (LIGHT, DARK) for name, value in palette.items())
