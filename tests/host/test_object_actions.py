"""Objects: put, deleted and shared alike at every door, with an entry for each, within limits and by who may."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gateleg.cli.commands import app as command_line
from gateleg.host.actions import Action, ActionCall, perform
from gateleg.host.actions import objects as object_actions
from gateleg.host.actions.objects import (
    NewLink,
    ObjectsToDelete,
    ObjectTarget,
    PutObject,
    TooManyObjects,
    UploadRefused,
    delete_object,
    delete_objects,
    put_object,
    sign_object,
)
from gateleg.host.errors import NotAllowed, TooLargeBody
from gateleg.host.host import Host
from gateleg.host.principal import LOCAL, Principal, Role
from gateleg.host.settings import Settings
from gateleg.model.errors import S3KeyRefused
from gateleg.objects import ObjectExists
from gateleg.store import Throttled
from gateleg.web.app import create_app
from tests.host.test_actions import Door, by_api, by_command, by_tool, entries, told
from tests.web.conftest import client_of
from tests.web.console.objects.pictures import png

OPERATOR = Principal("somebody", Role.OPERATOR)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(store=f"embedded:{tmp_path}/store", objects=f"dir:{tmp_path}/objects", data=tmp_path / "data")


@pytest.fixture
async def host(settings: Settings) -> AsyncIterator[Host]:
    async with Host.open(settings) as host:
        yield host


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


def call(host: Host, principal: Principal = OPERATOR) -> ActionCall:
    return ActionCall(host, principal)


# -- every door


async def put_by_api(host: Host, settings: Settings, file: Path, key: str) -> None:
    async with client_of(create_app(host, console=False), token=host.local.token) as client:
        answer = await client.put(f"/api/objects/{key}", content=file.read_bytes())
    assert (answer.status_code, answer.json()["key"]) == (200, key)


async def put_by_command(host: Host, settings: Settings, file: Path, key: str) -> None:
    words = ["objects", "put", key, str(file), "--store", settings.store, "--objects", settings.objects]
    result = await asyncio.to_thread(CliRunner().invoke, command_line, words)
    assert result.exit_code == 0, result.output
    assert result.output.strip() == f"The object {key} is stored, {file.stat().st_size:,} bytes"


@pytest.mark.parametrize("door", [put_by_api, put_by_command])
async def test_a_file_is_put_alike_at_every_door(
    host: Host, settings: Settings, tmp_path: Path, door: Callable[[Host, Settings, Path, str], Awaitable[None]]
) -> None:
    file = tmp_path / "new.png"
    file.write_bytes(png())
    await door(host, settings, file, "covers/new.png")
    assert await host.objects.get("covers/new.png") == png()
    details = {"size": len(png()), "content_type": "image/png"}
    assert [told(entry) for entry in await entries(host)] == [("object.put", "covers/new.png", details)]


@pytest.mark.parametrize("door", [by_api, by_command, by_tool])
async def test_an_object_is_deleted_alike_at_every_door(host: Host, settings: Settings, door: Door) -> None:
    await host.objects.put("a/b c.txt", b"x")
    await door(host, settings, delete_object, ObjectTarget(key="a/b c.txt"))
    assert not await host.objects.exists("a/b c.txt")
    assert [told(entry) for entry in await entries(host)] == [("object.delete", "a/b c.txt", {})]


@pytest.mark.parametrize("door", [by_api, by_command, by_tool])
async def test_a_folder_stands_for_all_that_is_in_it_at_every_door(host: Host, settings: Settings, door: Door) -> None:
    for key in ("a/1.txt", "a/b/2.txt", "c.txt", "d.txt"):
        await host.objects.put(key, b"x")
    await door(host, settings, delete_objects, ObjectsToDelete(places=["a/", "c.txt", "a/b/"]))
    assert [entry.key async for entry in host.objects.walk()] == ["d.txt"]
    deleted = ["a/1.txt", "a/b/2.txt", "c.txt"]
    assert sorted(told(entry) for entry in await entries(host)) == [("object.delete", key, {}) for key in deleted]


@pytest.mark.parametrize("door", [by_api, by_command])
@pytest.mark.parametrize(
    ("link", "entry"),
    [
        (NewLink(key="a.txt", expires=900), ("object.share", "a.txt", {"seconds": 900})),
        (NewLink(key="a.txt", method="PUT", expires=60), ("object.sign-put", "a.txt", {"expires": 60})),
    ],
)
async def test_a_link_is_signed_alike_at_every_door(
    host: Host, settings: Settings, door: Door, link: NewLink, entry: tuple[str, str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATELEG_DATA", str(settings.data))
    await host.objects.put("a.txt", b"x")
    said = await door(host, settings, sign_object, link)
    url = said if isinstance(said, str) else said["url"]
    async with client_of(create_app(host, console=False)) as anybody:
        answer = await (anybody.get(url) if link.method == "GET" else anybody.put(url, content=b"y"))
    assert answer.status_code in (200, 201)
    assert [told(note) for note in await entries(host)] == [entry]


def test_a_command_does_not_sign_with_a_secret_that_no_host_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATELEG_DATA", f"{tmp_path}/data")
    settings = Settings(store=f"embedded:{tmp_path}/store", objects=f"dir:{tmp_path}/objects", data=tmp_path / "data")

    async def make() -> None:
        async with Host.open(settings):
            pass

    asyncio.run(make())
    monkeypatch.setenv("GATELEG_DATA", f"{tmp_path}/elsewhere")
    words = ["objects", "link", "--key", "a.txt", "--store", settings.store, "--objects", settings.objects]
    result = CliRunner().invoke(command_line, words)
    assert (result.exit_code, "secret" in result.output) == (1, True)
    assert not (tmp_path / "elsewhere").exists()


# -- content


async def test_an_empty_file_is_stored(host: Host) -> None:
    assert (await perform(put_object, call(host), PutObject(key="empty.txt", content=chunks()))).size == 0


async def test_content_that_arrives_in_small_pieces_is_stored_whole(host: Host) -> None:
    content = png() * 50
    pieces = [content[start : start + 7] for start in range(0, len(content), 7)]
    await perform(put_object, call(host), PutObject(key="a.png", content=chunks(*pieces)))
    assert await host.objects.get("a.png") == content


async def test_content_that_is_not_what_its_key_says_is_refused(host: Host) -> None:
    with pytest.raises(UploadRefused, match="but its content is something else"):
        await perform(put_object, call(host), PutObject(key="false.png", content=chunks(b"<scr", b"ipt>")))
    assert not await host.objects.exists("false.png")
    assert await entries(host) == []


async def test_an_object_is_replaced_only_when_that_was_said(host: Host) -> None:
    async with client_of(create_app(host, console=False), token=host.local.token) as client:
        assert (await client.put("/api/objects/a.txt", content=b"one")).status_code == 200
        refused = await client.put("/api/objects/a.txt", content=b"two")
        assert (refused.status_code, "already exists" in refused.json()["error"]["message"]) == (409, True)
        assert await host.objects.get("a.txt") == b"one"
        assert (await client.put("/api/objects/a.txt?replace=true", content=b"two")).status_code == 200
    assert await host.objects.get("a.txt") == b"two"


async def test_content_beyond_the_limit_is_refused_and_not_kept(tmp_path: Path) -> None:
    settings = Settings(store=f"embedded:{tmp_path}/store", objects=f"dir:{tmp_path}/objects", data=tmp_path / "data", upload_limit=1000)
    async with Host.open(settings) as host:
        with pytest.raises(TooLargeBody):
            await perform(put_object, call(host), PutObject(key="a.txt", content=chunks(b"x" * 600, b"x" * 600)))
        async with client_of(create_app(host, console=False), token=host.local.token) as client:
            assert (await client.put("/api/objects/a.txt", content=b"x" * 1001)).status_code == 413
            assert (await client.put("/api/objects/a.txt", content=b"x" * 1000)).status_code == 200


@pytest.mark.parametrize("key", ["..", "a\x00b", "", "/x"])
async def test_what_is_no_key_is_refused(host: Host, key: str) -> None:
    with pytest.raises(S3KeyRefused):
        await perform(put_object, call(host), PutObject(key=key, content=chunks(b"x")))


# -- bulks


async def test_a_bulk_that_fails_half_way_has_an_entry_for_what_it_deleted(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [f"a/{number:02}" for number in range(40)]
    for key in keys:
        await host.objects.put(key, b"x")
    delete = host.objects.delete

    async def throttled(key: str) -> None:
        if key == "a/20":
            raise Throttled("The bucket is overloaded.")
        await delete(key)

    monkeypatch.setattr(type(host.objects), "delete", staticmethod(throttled))
    async with client_of(create_app(host, console=False), token=host.local.token) as client:
        answer = await client.post("/api/objects/delete", json={"places": ["a/"]})
    left = {entry.key async for entry in host.objects.walk()}
    assert 0 < len(left) < 40
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "stopped-halfway")
    assert {entry.target for entry in await entries(host)} == set(keys) - left


async def test_more_than_a_call_deletes_is_refused(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_actions, "MAX_OBJECTS", 2)
    for number in range(3):
        await host.objects.put(f"a/{number}", b"x")
    with pytest.raises(TooManyObjects):
        await perform(delete_objects, call(host), ObjectsToDelete(places=["a/"]))
    assert len([entry async for entry in host.objects.walk()]) == 3


async def test_nothing_is_deleted_if_one_key_is_not_valid(host: Host) -> None:
    await host.objects.put("a.txt", b"x")
    with pytest.raises(S3KeyRefused):
        await perform(delete_objects, call(host), ObjectsToDelete(places=["a.txt", "../b"]))
    assert await host.objects.exists("a.txt")


# -- who may


async def test_a_viewer_reads_by_link_but_neither_puts_nor_deletes(host: Host) -> None:
    viewer = call(host, Principal("vera", Role.VIEWER))
    await host.objects.put("a.txt", b"x")
    attempts: list[tuple[Action[Any, Any], Any]] = [
        (put_object, PutObject(key="b.txt", content=chunks(b"x"))),
        (delete_object, ObjectTarget(key="a.txt")),
        (delete_objects, ObjectsToDelete(places=["a.txt"])),
        (sign_object, NewLink(key="a.txt", method="PUT")),
    ]
    for action, given in attempts:
        with pytest.raises(NotAllowed):
            await perform(action, viewer, given)
    assert (await perform(sign_object, viewer, NewLink(key="a.txt"))).url.startswith("/objects/a.txt?expires=")
    assert [entry.action for entry in await entries(host)] == ["object.share"]


async def test_an_existing_object_is_said_to_exist_by_the_action(host: Host) -> None:
    await host.objects.put("a.txt", b"x")
    with pytest.raises(ObjectExists, match="already exists"):
        await perform(put_object, ActionCall(host, LOCAL), PutObject(key="a.txt", content=chunks(b"y")))
