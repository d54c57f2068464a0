"""Taking files, deleting objects and sharing them on behalf of who looks."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from fastapi import Request
from nicegui.elements.upload_files import SmallFileUpload

from gateleg.host import Principal, Role
from gateleg.host.audit import Audit
from gateleg.host.errors import NotAllowed
from gateleg.host.tables import TABLES, AuditEntry
from gateleg.model.errors import S3KeyRefused
from gateleg.objects import AsyncObjects, ThreadedObjects, open_objects
from gateleg.store import AsyncStore
from gateleg.web.console.frame import Console, View
from gateleg.web.console.objects import changes
from gateleg.web.console.objects.changes import TooManyObjects, UploadRefused, delete_objects, keys_below, share, take_file
from tests.web.console.objects.pictures import png

if TYPE_CHECKING:
    from gateleg.host.host import Host


@dataclass(frozen=True)
class Desk:
    """The part of a host that changes need."""

    store: AsyncStore
    objects: AsyncObjects
    audit: Audit


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """An empty folder of objects and an audit log."""
    objects = ThreadedObjects(open_objects(f"dir:{tmp_path}/objects", secret=b"s" * 32))
    async with AsyncStore.embedded() as store:
        await store.create_tables(*TABLES)
        yield Desk(store, objects, Audit(store, days=1))
    await objects.close()


def view(desk: Desk, role: Role = Role.OPERATOR) -> View:
    """The view of somebody with a role."""
    scope = {"type": "http", "scheme": "http", "server": ("localhost", 8000), "path": "/objects", "headers": []}
    return View(Console(cast("Host", desk)), Principal("somebody", role), Request(scope))


def file(name: str, content: bytes) -> SmallFileUpload:
    """A file as a browser sends it."""
    return SmallFileUpload(name, "application/x-whatever-the-browser-says", content)


async def noted(desk: Desk) -> list[tuple[str, str, dict[str, Any]]]:
    """What the audit log says, oldest first."""
    entries = desk.store.query(AuditEntry.by_actor, actor="somebody", newest_first=False)
    return [(entry.action, entry.target, entry.details) async for entry in entries]


async def test_a_file_is_stored_in_its_folder_with_the_type_of_its_name(desk: Desk) -> None:
    info = await take_file(view(desk), "covers/", file("new.png", png()), replace=False)
    assert (info.key, info.content_type) == ("covers/new.png", "image/png")
    assert await desk.objects.get("covers/new.png") == png()
    assert [(action, target) for action, target, _ in await noted(desk)] == [("object.put", "covers/new.png")]


async def test_an_empty_file_is_stored(desk: Desk) -> None:
    assert (await take_file(view(desk), "", file("empty.txt", b""), replace=False)).size == 0


async def test_a_file_that_is_not_what_it_is_called_is_refused(desk: Desk) -> None:
    with pytest.raises(UploadRefused, match="but its content is something else"):
        await take_file(view(desk), "", file("false.png", b"<script>"), replace=False)
    assert not await desk.objects.exists("false.png")
    assert await noted(desk) == []


async def test_an_object_is_replaced_only_when_that_was_said(desk: Desk) -> None:
    await take_file(view(desk), "", file("a.txt", b"one"), replace=False)
    with pytest.raises(UploadRefused, match="already"):
        await take_file(view(desk), "", file("a.txt", b"two"), replace=False)
    assert await desk.objects.get("a.txt") == b"one"
    await take_file(view(desk), "", file("a.txt", b"two"), replace=True)
    assert await desk.objects.get("a.txt") == b"two"


@pytest.mark.parametrize("name", ["..", "a\x00b", ""])
async def test_a_name_that_is_no_key_is_refused(desk: Desk, name: str) -> None:
    with pytest.raises(S3KeyRefused):
        await take_file(view(desk), "", file(name, b"x"), replace=False)


async def test_a_viewer_neither_puts_nor_deletes(desk: Desk) -> None:
    viewer = view(desk, Role.VIEWER)
    with pytest.raises(NotAllowed):
        await take_file(viewer, "", file("a.txt", b"x"), replace=False)
    with pytest.raises(NotAllowed):
        await delete_objects(viewer, ["a.txt"])


async def test_a_folder_stands_for_all_that_is_in_it(desk: Desk) -> None:
    for key in ("a/1.txt", "a/b/2.txt", "c.txt", "d.txt"):
        await desk.objects.put(key, b"x")
    keys = await keys_below(view(desk), ["a/", "c.txt", "a/b/"])
    assert keys == ["a/1.txt", "a/b/2.txt", "c.txt"]
    await delete_objects(view(desk), keys)
    assert [entry.key async for entry in desk.objects.walk()] == ["d.txt"]
    assert await noted(desk) == [("object.delete", "3 objects", {"keys": keys})]


async def test_more_than_a_page_deletes_is_refused(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "MAX_OBJECTS", 2)
    for number in range(3):
        await desk.objects.put(f"a/{number}", b"x")
    with pytest.raises(TooManyObjects):
        await keys_below(view(desk), ["a/"])


async def test_a_shared_link_is_a_whole_address_and_is_noted(desk: Desk) -> None:
    await desk.objects.put("a.txt", b"x")
    link = await share(view(desk, Role.VIEWER), "a.txt", 900)
    assert link.startswith("http://localhost:8000/objects/a.txt?expires=")
    assert await noted(desk) == [("object.share", "a.txt", {"seconds": 900})]
