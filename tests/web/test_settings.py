from pathlib import Path

import pytest

from gateleg.host.settings import BadSettings, Settings, load_settings


def written(folder: Path, text: str) -> Path:
    file = folder / "gateleg.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_flags_go_before_variables_and_variables_before_the_file(tmp_path: Path) -> None:
    file = written(tmp_path, 'port = 1\nprefix = "file-"\nlog = "json"\n')
    settings = load_settings(file=file, environ={"GATELEG_PORT": "2", "GATELEG_PREFIX": "env-"}, flags={"port": 3, "host": None})
    assert (settings.port, settings.prefix, settings.log, settings.host) == (3, "env-", "json", "127.0.0.1")
    origins = {name: settings.origin(name) for name in ("port", "prefix", "log", "host")}
    assert origins == {"port": "--port", "prefix": "GATELEG_PREFIX", "log": str(file), "host": "default"}


@pytest.mark.parametrize("written_as", ['hosts = ["a", "b"]', 'hosts = "a, b"'])
def test_lists_are_written_as_lists_or_with_commas(tmp_path: Path, written_as: str) -> None:
    assert load_settings(file=written(tmp_path, written_as)).hosts == ("a", "b")
    assert load_settings(file=tmp_path / "none", environ={"GATELEG_HOSTS": "a,b,"}).hosts == ("a", "b")


def test_an_unknown_name_is_refused_with_the_nearest_one(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match="unknown setting 'prot'; did you mean 'port'") as refused:
        load_settings(file=written(tmp_path, "prot = 1\ncolour = 'red'\n"), environ={"GATELEG_STROE": "x"})
    assert len(refused.value.problems) == 3


def test_a_variable_that_is_like_no_setting_is_somebody_elses() -> None:
    assert load_settings(environ={"GATELEG_FAULT_ROUNDS": "9", "GATELEG_CREDENTIALS": "a:b", "HOME": "/"}).port == 8000


def test_a_variable_of_an_earlier_version_says_which_one_to_use() -> None:
    with pytest.raises(BadSettings, match="GATELEG_APPLICATIONS"):
        load_settings(environ={"GATELEG_APP": "shop.work:jobs"})


def test_a_value_that_does_not_fit_names_where_it_came_from(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match=r"port .from GATELEG_PORT."):
        load_settings(environ={"GATELEG_PORT": "eighty"})
    with pytest.raises(BadSettings, match="cannot be read"):
        load_settings(file=written(tmp_path, "port ="))
    with pytest.raises(BadSettings, match="16 bytes"):
        load_settings(environ={"GATELEG_SECRET": "short"})


def test_a_file_that_was_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match="no such file"):
        load_settings(file=tmp_path / "none.toml", given=True)
    assert load_settings(file=tmp_path / "none.toml").port == 8000


def test_secrets_are_hidden() -> None:
    settings = load_settings(environ={"GATELEG_SECRET": "0123456789abcdef"})
    told = {name: (value, origin) for name, value, origin in settings.table()}
    assert told["secret"] == ("(hidden)", "GATELEG_SECRET")
    assert "0123456789abcdef" not in repr(settings) + str(told)


def test_every_setting_says_what_it_is_for() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []


@pytest.mark.parametrize("url", ["", "gateleg.example.com", "https://gateleg.example.com/", "https://a b", "ftp://a"])
def test_an_address_that_browsers_cannot_use_is_told_in_words(url: str) -> None:
    with pytest.raises(BadSettings, match=r"url \(from GATELEG_URL\): the URL must be like https://gateleg.example.com") as refused:
        load_settings(environ={"GATELEG_URL": url})
    assert len(refused.value.problems) == 1


@pytest.mark.parametrize("written_as", ['[table_names]\nSongs = "prod-songs"', 'table_names = "Songs=prod-songs"'])
def test_table_names_are_a_table_or_one_line(tmp_path: Path, written_as: str) -> None:
    assert load_settings(file=written(tmp_path, written_as)).table_names == {"Songs": "prod-songs"}
    settings = load_settings(file=tmp_path / "none", environ={"GATELEG_TABLE_NAMES": "Songs=prod-songs"})
    assert settings.table_names == {"Songs": "prod-songs"}
    assert ("table_names", "Songs=prod-songs", "GATELEG_TABLE_NAMES") in list(settings.table())
    with pytest.raises(BadSettings, match=r"table_names .from GATELEG_TABLE_NAMES."):
        load_settings(environ={"GATELEG_TABLE_NAMES": "Songs"})


def test_a_folder_that_a_flag_names_as_the_store_has_all_of_its_host() -> None:
    settings = load_settings(flags={"store": "embedded:./shop"})
    assert (settings.data, settings.objects) == (Path("shop"), "dir:shop/objects")
    assert settings.origin("data") == settings.origin("objects") == "--store"


def test_places_that_are_set_stay_when_a_flag_names_the_store() -> None:
    settings = load_settings(flags={"store": "embedded:./shop"}, environ={"GATELEG_OBJECTS": "s3://bucket", "GATELEG_DATA": "/srv"})
    assert (settings.data, settings.objects) == (Path("/srv"), "s3://bucket")


@pytest.mark.parametrize("store", ["embedded::memory:", "embedded:./shop.db", "dynamodb:eu-west-1", "http://127.0.0.1:8001", "nonsense"])
def test_a_store_that_is_no_folder_moves_no_place(store: str) -> None:
    assert load_settings(flags={"store": store}).objects == load_settings().objects
