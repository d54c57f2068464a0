"""Object stores by name, and requests for tenants, as applications get them from the settings."""

from pathlib import Path

import pytest

from gateleg.host.errors import StoreNotConfigured
from gateleg.host.host import Host
from gateleg.host.settings import BadSettings, Settings, load_settings
from gateleg.net.errors import AddressRefused
from gateleg.net.http import HttpRequest
from gateleg.objects import S3Objects, ThreadedObjects
from tests.net.http.faulty import answer, service
from tests.web.sample import make_application


async def test_an_application_has_the_object_stores_of_the_settings_by_name(tmp_path: Path) -> None:
    file = tmp_path / "gateleg.toml"
    file.write_text(
        f'store = "embedded::memory:"\ndata = "{tmp_path}"\nobjects = "dir:{tmp_path}/objects"\n'
        f'[object_stores]\narchive = "dir:{tmp_path}/a"\n'
        '[object_stores.media]\naddress = "s3://media/films"\nendpoint = "http://127.0.0.1:9"\nregion = "eu-west-1"\n'
    )
    application = make_application()
    async with Host.open(load_settings(file=file), [application]) as host:
        resources = host.resources[application.name]
        archive, media = resources.objects_named("archive"), resources.objects_named("media")
        await archive.put("a.txt", b"x")
        assert not await resources.objects.exists("a.txt")
        assert isinstance(media, ThreadedObjects)
        assert isinstance(media.objects, S3Objects)
        assert (media.objects.bucket.name, media.objects.prefix, media.objects.bucket.region) == ("media", "films/", "eu-west-1")
        with pytest.raises(StoreNotConfigured, match="archive, media"):
            resources.objects_named("films")


def test_stores_may_be_named_in_the_environment() -> None:
    stores = load_settings(environ={"GATELEG_OBJECT_STORES": "archive=dir:./a, media=s3://media"}).object_stores
    assert {name: one.address for name, one in stores.items()} == {"archive": "dir:./a", "media": "s3://media"}


@pytest.mark.parametrize(
    "environ",
    [
        {"GATELEG_OBJECT_STORES": "archive=nowhere"},
        {"GATELEG_OBJECT_STORES": "A B=dir:./x"},
        {"GATELEG_OUTGOING_ALLOW": "http://x"},
        {"GATELEG_OUTGOING_PORTS": "http"},
    ],
)
def test_what_names_nothing_is_refused_at_the_start(environ: dict[str, str]) -> None:
    with pytest.raises(BadSettings):
        load_settings(environ=environ)


async def test_requests_for_tenants_go_where_the_settings_allow(settings: Settings) -> None:
    application = make_application()
    with service(answer(b"hello")) as other:
        allowed = settings.model_copy(update={"outgoing_allow": (other.url.removeprefix("http://"),)})
        async with Host.open(allowed, [application]) as host:
            assert (await host.resources[application.name].outgoing.fetch(HttpRequest(other.url, method="GET"))).body == b"hello"
        async with Host.open(settings, [application]) as host:
            with pytest.raises(AddressRefused):
                await host.resources[application.name].outgoing.fetch(HttpRequest(other.url, method="GET"))
