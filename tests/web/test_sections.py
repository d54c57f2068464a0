from pathlib import Path

import pytest
from pydantic import BaseModel, Field, SecretStr

from gateleg.host import Application, Resources
from gateleg.host.host import Host
from gateleg.host.settings import BadSettings, Settings, load_settings


class Lens(BaseModel):
    width: int = 50


class FilmSettings(BaseModel):
    fps: int = Field(default=24, ge=1, description="frames a second")
    token: SecretStr | None = None
    groups: tuple[str, ...] = ()
    prices: dict[str, float] = {}
    lens: Lens | None = None
    grain: bool = False


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "gateleg.toml"
    file.write_text(text)
    return file


def film(tmp_path: Path, text: str = "", **environ: str) -> FilmSettings:
    return load_settings(file=written(tmp_path, text), environ=environ).section("film", FilmSettings)


def test_a_section_of_the_file_is_typed_and_the_environment_overrides_it(tmp_path: Path) -> None:
    found = film(tmp_path, '[film]\nfps = 25\ngroups = ["a"]\nlens = {width = 35}\n', GATELEG_FILM__FPS="30", GATELEG_FILM__GRAIN="true")
    assert found == FilmSettings(fps=30, groups=("a",), lens=Lens(width=35), grain=True)


def test_texts_of_the_environment_become_lists_and_mappings(tmp_path: Path) -> None:
    variables = {"GATELEG_FILM__GROUPS": "a, b", "GATELEG_FILM__PRICES": '{"x": 1.5}', "GATELEG_FILM__LENS": '{"width": 8}'}
    assert film(tmp_path, "", **variables) == FilmSettings(groups=("a", "b"), prices={"x": 1.5}, lens=Lens(width=8))


@pytest.mark.parametrize(
    ("text", "environ", "told"),
    [
        ("[film]\nfsp = 3\n", {}, "gateleg.toml: film has no setting 'fsp'; did you mean 'fps'?"),
        ("", {"GATELEG_FILM__GROUP": "x"}, "GATELEG_FILM__GROUP: film has no setting 'group'; did you mean 'groups'?"),
        ("[film]\nfps = 0\n", {}, "gateleg.toml): Input should be greater than or equal to 1"),
        ("[film.lens]\nwidth = 'w'\n", {}, "film.lens.width (from "),
        ("", {"GATELEG_FILM__PRICES": "{oops"}, "film.prices (from GATELEG_FILM__PRICES)"),
    ],
)
def test_what_is_wrong_is_told_with_where_it_is_from(tmp_path: Path, text: str, environ: dict[str, str], told: str) -> None:
    with pytest.raises(BadSettings) as caught:
        film(tmp_path, text, **environ)
    assert [told in problem for problem in caught.value.problems] == [True]


class Needy(BaseModel):
    key: str


def test_a_setting_that_an_application_needs_is_asked_for() -> None:
    with pytest.raises(BadSettings, match=r"my-films.key is not set.*\[my-films\] of gateleg.toml, or set GATELEG_MY_FILMS__KEY"):
        load_settings().section("my-films", Needy)
    assert load_settings(environ={"GATELEG_MY_FILMS__KEY": "k"}).section("my-films", Needy).key == "k"


def test_a_section_of_no_application_is_refused_with_a_suggestion(tmp_path: Path) -> None:
    settings = load_settings(file=written(tmp_path, "[flim]\nfps = 1\n"), environ={"GATELEG_FILMS__FPS": "1", "GATELEG_OTHER__X": "y"})
    with pytest.raises(BadSettings) as caught:
        settings.check_sections(["film"])
    first, second = caught.value.problems
    assert first.endswith("gateleg.toml: unknown application 'flim'; did you mean 'film'?")
    assert second.startswith("GATELEG_FILMS__FPS: unknown application 'films'")
    load_settings(environ={"GATELEG_FILM__FPS": "1"}).check_sections(["film"])


def test_a_mistyped_table_of_the_kit_is_not_taken_for_a_section(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match="unknown setting 'table_name'; did you mean 'table_names'"):
        load_settings(file=written(tmp_path, "[table_name]\nSongs = 'x'\n"))


def test_the_table_of_a_section_has_origins_and_hides_secrets(tmp_path: Path) -> None:
    settings = load_settings(file=written(tmp_path, "[film]\ntoken = 'hush'\n"), environ={"GATELEG_FILM__FPS": "30"})
    rows = {name: (value, origin) for name, value, origin in settings.section_table("film", FilmSettings)}
    assert rows["film.fps"] == ("30", "GATELEG_FILM__FPS")
    assert rows["film.token"] == ("(hidden)", str(tmp_path / "gateleg.toml"))
    assert rows["film.grain"] == ("false", "default")


def test_another_process_gets_the_same_settings(tmp_path: Path) -> None:
    text = 'port = 9\nsecret = "a very long secret"\n[film]\ntoken = "hush"\n'
    settings = load_settings(file=written(tmp_path, text), environ={"GATELEG_FILM__GROUPS": "a,b"})
    again = Settings.unpack(settings.pack())
    assert (again, again.origin("port")) == (settings, str(tmp_path / "gateleg.toml"))
    assert again.section("film", FilmSettings) == settings.section("film", FilmSettings)


def film_application() -> Application:
    return Application(name="film", title="Film", icon="movie", settings=FilmSettings)


async def test_each_application_has_resources_of_its_own(settings: Settings) -> None:
    other = Application(name="other", title="Other", icon="star")
    async with Host.open(settings, [film_application(), other]) as host:
        resources: Resources[FilmSettings] = host.resources["film"]
        assert (resources.settings.fps, resources.store, resources.queue) == (24, host.store, host.queue)
        assert (resources.events, resources.audit) == (host.events, host.audit)
        assert resources.data != host.resources["other"].data
        assert (resources.data.is_dir(), resources.data.stat().st_mode & 0o077) == (True, 0)


async def test_a_host_does_not_open_with_bad_settings_of_an_application(tmp_path: Path) -> None:
    chosen = load_settings(file=written(tmp_path, "[film]\nfsp = 3\n"), flags={"data": tmp_path / "data"})
    with pytest.raises(BadSettings, match="did you mean 'fps'"):
        async with Host.open(chosen, [film_application()]):
            pass
    assert not (tmp_path / "data").exists()
