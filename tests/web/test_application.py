import pytest

from gateleg.jobs import Jobs, Submission
from gateleg.web import Application, Resources
from gateleg.web.application import BadApplication, checked
from gateleg.web.host import Host
from gateleg.web.settings import Settings


def named(name: str) -> Application:
    return Application(name=name, title=name, icon="star")


@pytest.mark.parametrize("name", ["jobs", "keys", "", "Music", "a b", "../x", "a/b", "x" * 41, "1st"])
def test_a_name_that_cannot_be_an_address_or_is_the_kits_is_refused(name: str) -> None:
    with pytest.raises(BadApplication):
        checked([named(name)])


def test_two_applications_cannot_have_one_name() -> None:
    assert len(checked([named("a"), named("b")])) == 2
    with pytest.raises(BadApplication):
        checked([named("a"), named("a")])


async def test_handlers_may_be_made_with_the_hosts_resources(settings: Settings) -> None:
    given: list[Resources] = []

    def make(resources: Resources) -> Jobs:
        given.append(resources)
        jobs = Jobs()

        @jobs.handler("echo")
        async def echo(job: object, config: dict[str, str]) -> None:
            await resources.store.health()

        return jobs

    async with Host.open(settings, [Application(name="x", title="X", icon="star", jobs=make)]) as host:
        assert (given[0].store, given[0].objects, given[0].queue) == (host.store, host.objects, host.queue)
        assert (await host.queue.submit(Submission("echo", {}))).created
