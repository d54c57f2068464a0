"""Files of users: nothing that a caller names leads out of their own folder."""

import base64
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gateleg.apps.agents.application import application
from gateleg.apps.agents.errors import BadField, MissingField, NotFoundInPartition
from gateleg.apps.agents.files import find_file, folder_of, own_key, read_file, store_file
from gateleg.apps.agents.tenancy import Context
from gateleg.host import Resources
from gateleg.host.host import settings_only_resources
from gateleg.host.settings import Settings
from gateleg.objects import DirectoryObjects, ThreadedObjects
from tests.apps.agents.conftest import context_of

TEXT = {"filename": "Köln.txt", "encoded_content": base64.b64encode(b"Hello").decode(), "purpose": "user_data"}


@pytest.fixture
async def resources(tmp_path: Path) -> AsyncIterator[Resources[Any]]:
    async with ThreadedObjects(DirectoryObjects(tmp_path / "objects", secret=b"0" * 32, url="/objects")) as objects:
        yield replace(settings_only_resources(application, Settings()), objects=objects)


async def test_a_file_is_found_and_read_by_whoever_stored_it(resources: Resources[Any], ann: Context) -> None:
    stored = await store_file(resources, ann, TEXT)
    found = await find_file(resources.objects, ann, stored.file_id)
    assert (found, found.filename, found.media_type, found.size, found.purpose) == (stored, "Köln.txt", "text/plain", 5, "user_data")
    assert base64.b64decode(await read_file(resources.objects, ann, stored.file_id)) == b"Hello"


async def test_nobody_else_finds_it(resources: Resources[Any], ann: Context, bob: Context, eve: Context) -> None:
    stored = await store_file(resources, ann, TEXT)
    for other in (bob, eve):
        with pytest.raises(NotFoundInPartition):
            await find_file(resources.objects, other, stored.file_id)


@pytest.mark.parametrize("file_id", ["", ".", "..", "../../x", "a/b"])
async def test_an_id_is_not_a_path(resources: Resources[Any], ann: Context, file_id: str) -> None:
    with pytest.raises(NotFoundInPartition):
        await find_file(resources.objects, ann, file_id)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"filename": "a"}, MissingField),
        ({"filename": "a", "encoded_content": "%%%"}, BadField),
        ({"filename": 5, "encoded_content": "YQ=="}, BadField),
    ],
)
async def test_what_is_no_file_is_refused(resources: Resources[Any], ann: Context, given: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        await store_file(resources, ann, given)


def test_a_key_stays_in_the_folder_of_its_user(ann: Context, bob: Context) -> None:
    folder = folder_of(ann)
    assert own_key(ann, "a/b.txt") == own_key(ann, f"{folder}a/b.txt") == f"{folder}a/b.txt"
    assert own_key(bob, f"{folder}a/b.txt").startswith(folder_of(bob))
    for key in ("", "/a", "../a", "a/../../b", "a//b", "./a", folder):
        with pytest.raises(BadField):
            own_key(ann, key)


def test_folders_of_different_users_are_never_one_inside_the_other() -> None:
    folders = [folder_of(context_of(name, tenant)) for name in ("a", "a/b", "..", "a%2Fb") for tenant in ("t", "t/a", "..", "t%2Fa")]
    for one in folders:
        assert [other for other in folders if other.startswith(one)] == [one]
