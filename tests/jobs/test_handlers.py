from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from gateleg.jobs.errors import BadConfig, BadHandler, HandlerTaken, NoHandlers, UnknownJobType
from gateleg.jobs.handlers import Handler, Jobs
from gateleg.jobs.queue import AsyncQueue
from gateleg.jobs.tasks import JobContext
from gateleg.jobs.worker.worker import Worker
from gateleg.store import AsyncStore
from tests.jobs.sample import Sizes, make_jobs


async def handle(job: JobContext, config: Any) -> None: ...


def test_a_type_has_one_handler() -> None:
    jobs = make_jobs()
    with pytest.raises(HandlerTaken):
        jobs.handler("plain")(handle)
    with pytest.raises(UnknownJobType, match="The registered job types are PCA, plain"):
        jobs.of("nothing")


def test_internal_types_are_not_suggested() -> None:
    jobs = make_jobs()
    jobs.handler("chore", internal=True)(handle)
    with pytest.raises(UnknownJobType, match=r"The registered job types are PCA, plain\."):
        jobs.of("nothing")


def test_a_misspelt_type_is_told_with_the_nearest_name() -> None:
    with pytest.raises(UnknownJobType, match="Did you mean 'plain'"):
        make_jobs().of("plian")
    with pytest.raises(UnknownJobType, match="No handler is registered"):
        Jobs().of("plain")


def test_a_handler_that_takes_its_job_second_is_refused() -> None:
    async def swapped(config: dict[str, Any], job: JobContext) -> None: ...

    with pytest.raises(BadHandler, match="config first and its job second"):
        Jobs().handler("x")(swapped)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"retry": 3}, r"Write retry=Retry\(times=3\)"),
        ({"timeout": "60"}, "timeout='60'; it must be a whole number. Give seconds"),
        ({"priority": "high"}, "priority='high'; it must be a whole number. Give a priority from 0 to 100"),
    ],
)
def test_an_option_of_the_wrong_type_is_refused_where_it_is_written(options: dict[str, Any], told: str) -> None:
    handler: Any = Jobs().handler
    with pytest.raises(BadHandler, match=told):
        handler("x", **options)(handle)


def test_registries_are_put_together() -> None:
    jobs = Jobs()
    jobs.include(make_jobs())
    assert "PCA" in jobs
    assert {handler.job_type for handler in jobs} == {"PCA", "plain"}


def test_what_cannot_be_a_handler_is_refused() -> None:
    jobs = Jobs()

    def plain(job: JobContext, config: Any) -> Any: ...

    async def alone(job: JobContext) -> None: ...

    for bad in (
        Handler("a#b", handle),
        Handler("x", handle, queue=""),
        Handler("x", plain, runs="inline"),
        Handler("x", handle, timeout=0),
        Handler("x", handle, priority=101),
        Handler("x", handle, runs="proces"),  # type: ignore[arg-type]
        Handler("x", alone),  # type: ignore[arg-type]
        Handler("x", handle, config=dict),  # type: ignore[arg-type]
        Handler("x", handle, result=int),  # type: ignore[arg-type]
    ):
        with pytest.raises(BadHandler):
            jobs.add(bad)
    assert list(jobs) == []


def test_a_refused_handler_says_what_to_write() -> None:
    jobs = Jobs()
    with pytest.raises(BadHandler, match=r"runs='proces'. Did you mean 'process'\?"):
        jobs.handler("x", runs="proces")(handle)  # type: ignore[call-overload]
    with pytest.raises(BadHandler, match=r'Write @jobs.handler\("handle"\)'):
        jobs.handler(handle)  # type: ignore[call-overload]
    with pytest.raises(BadHandler, match="config=dict, which is not a pydantic model"):
        jobs.handler("x", config=dict)(handle)  # type: ignore[type-var]


async def test_a_worker_without_handlers_is_refused() -> None:
    async with AsyncStore.embedded() as store:
        with pytest.raises(NoHandlers):
            await Worker(AsyncQueue(store, Jobs())).run()


def test_configs_and_results_are_checked_against_their_models() -> None:
    handler = Handler("x", handle, config=Sizes, result=Sizes)
    assert handler.checked_config({"n_components": "3"}) == {"n_components": 3}
    assert handler.loaded_config({"n_components": 3}) == Sizes(n_components=3)
    assert handler.checked_result({"n_components": 3}) == {"n_components": 3}
    with pytest.raises(ValueError, match="n_components"):
        handler.checked_result({"n_components": 0})


def test_a_plain_function_runs_in_a_thread_unless_told_otherwise() -> None:
    jobs = Jobs()

    @jobs.handler("plain")
    def plain(job: JobContext, config: Any) -> int:
        return 1

    @jobs.handler("async")
    async def awaits(job: JobContext, config: Any) -> int:
        return 1

    assert (jobs.of("plain").runs, jobs.of("async").runs) == ("thread", "inline")
    with pytest.raises(BadHandler, match="would block all other jobs"):
        jobs.handler("x", runs="inline")(plain)


def test_a_handler_that_yields_is_refused() -> None:
    jobs = Jobs()
    with pytest.raises(BadHandler, match=r"has a yield.*job\.emit"):

        @jobs.handler("stream")
        async def stream(job: JobContext, config: dict[str, int]) -> AsyncIterator[int]:
            yield 1

    with pytest.raises(BadHandler, match="has a yield"):

        @jobs.handler("lines")
        def lines(job: JobContext, config: dict[str, int]) -> Iterator[str]:
            yield ""


class Resize(BaseModel):
    width: int = 100


class ResizeTo(BaseModel):
    width: int = 200


class Rotate(BaseModel):
    degrees: int = 90


def test_a_config_of_another_model_is_refused_if_attributes_of_it_would_be_lost() -> None:
    jobs = Jobs()

    @jobs.handler("resize")
    def resize(job: JobContext, config: Resize) -> None: ...

    handler = jobs.of("resize")
    assert handler.checked_config(ResizeTo()) == {"width": 200}
    with pytest.raises(BadConfig, match=r"is a Resize, which has no degrees, and was given as a Rotate.*Submit a Resize"):
        handler.checked_config(Rotate())
