"""The SQLite file for a path."""

from pathlib import Path

from gateleg.store.transports.embedded import database_file


def test_memory_is_memory() -> None:
    assert database_file(":memory:") == ":memory:"


def test_a_folder_holds_the_database(tmp_path: Path) -> None:
    assert database_file(str(tmp_path)) == str(tmp_path / "gateleg.db")


def test_a_missing_path_is_a_folder(tmp_path: Path) -> None:
    assert database_file(str(tmp_path / "data")) == str(tmp_path / "data" / "gateleg.db")


def test_a_name_that_ends_in_db_is_a_file(tmp_path: Path) -> None:
    assert database_file(str(tmp_path / "my.db")) == str(tmp_path / "my.db")


def test_a_folder_may_end_in_db_as_well(tmp_path: Path) -> None:
    (tmp_path / "my.db").mkdir()
    assert database_file(str(tmp_path / "my.db")) == str(tmp_path / "my.db" / "gateleg.db")


def test_an_existing_file_is_the_database(tmp_path: Path) -> None:
    (tmp_path / "store").touch()
    assert database_file(str(tmp_path / "store")) == str(tmp_path / "store")
