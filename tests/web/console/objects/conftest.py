"""Hosts with some objects in them."""

import json
from collections.abc import Iterator

import pytest

from gateleg.objects import open_objects
from tests.web.console.conftest import Served, serving
from tests.web.console.objects.pictures import png, wav

PAGE = b"<h1>Report</h1><script>document.body.append('it ran, from ' + window.origin)</script>"


def fill(served: Served) -> None:
    """Put objects of all kinds into a host's folder."""
    objects = open_objects(f"dir:{served.folder}/objects")
    objects.put("covers/solaris.png", png())
    objects.put("covers/old/solaris.txt", b"none")
    objects.put("reports/page.html", PAGE)
    objects.put("reports/summary.json", json.dumps({"books": 12}).encode())
    objects.put("sounds/bell.wav", wav())
    objects.put("notes.txt", b"hello\n")
    objects.close()


@pytest.fixture(scope="session")
def objects_host(served: Served) -> Served:
    """The host without keys, with objects."""
    fill(served)
    return served


@pytest.fixture(scope="session")
def guarded_objects(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A host with keys."""
    with serving(tmp_path_factory.mktemp("guarded-objects"), "--keys", "--idle") as served:
        fill(served)
        yield served
