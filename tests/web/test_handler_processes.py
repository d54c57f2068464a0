import asyncio
import os
from pathlib import Path

from pydantic import SecretStr

from gateleg.host import Application
from gateleg.host.host import Host
from gateleg.host.queues import factory_of
from gateleg.host.settings import Settings, load_settings
from gateleg.jobs import Jobs, JobStatus, Submission, Worker
from tests.jobs.worker.test_worker import done
from tests.web.process_application import application


async def test_a_process_handler_has_the_resources_of_its_application(tmp_path: Path) -> None:
    flags = {"store": f"embedded:{tmp_path}/data", "objects": f"dir:{tmp_path}/objects", "data": str(tmp_path / "data")}
    settings = load_settings(flags=flags, environ={"GATELEG_STUDIO__GREETING": "Good morning"}, file=tmp_path / "none.toml")
    async with Host.open(settings, [application]) as host:
        worker = Worker(host.queue, queues={"studio.render": 1}, scratch=settings.data / "scratch")
        running = asyncio.ensure_future(worker.run())
        try:
            job = await done(host.queue, Submission("studio.render", {"word": "Nina"}))
        finally:
            worker.stop()
            await running
        assert job.status == JobStatus.COMPLETED, job.attempts
        assert job.job_results is not None
        assert job.job_results.value["pid"] != os.getpid()
        assert job.job_results.value["status"] == "PROCESSING"
        assert await host.objects.get(f"studio/{job.job_id}.txt") == b"Good morning, Nina"


def test_handlers_that_cannot_be_made_again_have_no_factory() -> None:
    settings = Settings()
    assert factory_of(settings, application) is not None
    assert factory_of(settings, Application("a", "A", "x", jobs=Jobs())) is None
    assert factory_of(settings, Application("a", "A", "x", jobs=lambda resources: Jobs())) is None


def test_what_a_factory_holds_is_not_shown_in_logs() -> None:
    settings = Settings(secret=SecretStr("s" * 40))
    assert "ssss" not in repr(factory_of(settings, application))
