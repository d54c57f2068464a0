"""Stores by their address."""

from pathlib import Path
from typing import Any

import pytest

from gateleg.store import AsyncStore, Store
from gateleg.store.addresses import StoreAddress, concurrency_of, parse_address
from gateleg.store.errors import BadAddress, CannotOpen
from gateleg.store.transports.embedded import AsyncEmbeddedTransport, EmbeddedTransport
from tests.store.notes import Note, shelf


@pytest.mark.parametrize(
    ("text", "kind", "place"),
    [
        ("embedded:./data", "embedded", "./data"),
        ("embedded::memory:", "embedded", ":memory:"),
        ("dynamodb:eu-west-1", "dynamodb", "eu-west-1"),
        ("dynamodb:", "dynamodb", ""),
        ("http://host:8000", "endpoint", "http://host:8000"),
        ("https://host", "endpoint", "https://host"),
    ],
)
def test_address_is_read(text: str, kind: str, place: str) -> None:
    address = parse_address(text)
    assert (address.kind, address.place) == (kind, place)


@pytest.mark.parametrize("text", ["", "embedded", "embedded:", "http:", "http://", "ftp://host", "eu-west-1", "./data"])
def test_invalid_store_addresses_are_refused(text: str) -> None:
    with pytest.raises(BadAddress, match=r"embedded:\./data"):
        parse_address(text)


@pytest.mark.parametrize("text", ["http://host:port", "http://host:70000", "http:// host"])
def test_endpoints_that_cannot_be_one_are_refused(text: str) -> None:
    with pytest.raises(BadAddress, match="is not the address of an endpoint"):
        Store.connect(text)


def test_amazon_without_a_region_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    with pytest.raises(BadAddress, match="set AWS_REGION"):
        Store.connect("dynamodb:")


def test_a_path_is_not_an_address_but_opens_an_embedded_store(tmp_path: Path) -> None:
    with pytest.raises(BadAddress, match=r"Store\.embedded\("):
        Store.connect(tmp_path)  # type: ignore[arg-type]
    with Store.embedded(tmp_path) as store:
        store.ensure_tables(shelf)
    assert (tmp_path / "gateleg.db").exists()


@pytest.mark.parametrize(
    ("text", "place", "durability"),
    [
        ("embedded:./data", "./data", "full"),
        ("embedded:./data?durability=relaxed", "./data", "relaxed"),
        ("embedded:./data?durability=full", "./data", "full"),
    ],
)
def test_an_address_sets_the_durability(text: str, place: str, durability: str) -> None:
    address = parse_address(text)
    assert (address.place, address.durability) == (place, durability)


@pytest.mark.parametrize("text", ["embedded:./data?durability=none", "embedded:./data?cache=1", "embedded:?durability=relaxed"])
def test_unknown_options_of_an_address_are_refused(text: str) -> None:
    with pytest.raises(BadAddress, match="durability=relaxed"):
        parse_address(text)


async def test_an_engine_is_opened_as_its_address_says(tmp_path: Path) -> None:
    with Store.connect(f"embedded:{tmp_path}?durability=relaxed") as store:
        assert isinstance(store.transport, EmbeddedTransport)
        assert store.transport.engine.durability == "relaxed"
    async with AsyncStore.connect(f"embedded:{tmp_path}?durability=relaxed") as again:
        assert isinstance(again.transport, AsyncEmbeddedTransport)
        assert again.transport.engine.durability == "relaxed"


def test_only_network_stores_send_concurrent_requests() -> None:
    assert concurrency_of("embedded:./data") == 1
    assert concurrency_of("dynamodb:eu-west-1") > 1


def test_addresses_are_values() -> None:
    assert parse_address("dynamodb:x") == StoreAddress("dynamodb", "x")


@pytest.mark.parametrize("name", ["data", "deep/er/data", "one.db"])
def test_embedded_store_keeps_its_data_at_its_path(tmp_path: Path, name: str) -> None:
    address = f"embedded:{tmp_path / name}"
    with Store.connect(address) as store:
        store.ensure_tables(shelf)
        store.put(Note(book="b", number=1))
    with Store.connect(address) as again:
        assert again.get(Note, book="b", number=1).number == 1
    assert (tmp_path / name).is_file() == name.endswith(".db")


async def test_awaited_store_opens_the_same_data(tmp_path: Path) -> None:
    with Store.embedded(str(tmp_path / "data")) as store:
        store.ensure_tables(shelf)
        store.put(Note(book="b", number=1))
    async with AsyncStore.embedded(str(tmp_path / "data")) as again:
        assert (await again.get(Note, book="b", number=1)).number == 1


def test_engine_of_the_caller_is_not_closed(memory: Store) -> None:
    from gateleg.store.transports.embedded import EmbeddedTransport

    memory.create_tables(shelf)
    Store(EmbeddedTransport(memory.transport.engine)).close()  # type: ignore[attr-defined]
    memory.put(Note(book="b", number=1))


@pytest.mark.parametrize("connect", [Store.connect, AsyncStore.connect])
def test_a_file_that_is_not_a_database_is_a_store_error(tmp_path: Path, connect: Any) -> None:
    (tmp_path / "notes.db").write_text("these are notes")
    with pytest.raises(CannotOpen, match="not a SQLite database"):
        connect(f"embedded:{tmp_path / 'notes.db'}")
    assert (tmp_path / "notes.db").read_text() == "these are notes"


@pytest.mark.parametrize("connect", [Store.connect, AsyncStore.connect])
def test_a_folder_that_cannot_be_created_is_an_error_of_the_store(tmp_path: Path, connect: Any) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CannotOpen, match=r"file/data/gateleg\.db cannot be created or used: Not a directory"):
        connect(f"embedded:{tmp_path / 'file' / 'data'}")
