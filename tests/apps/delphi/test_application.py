import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateleg.apps.delphi import service
from gateleg.apps.delphi.application import application, load_demo
from gateleg.apps.delphi.demonstration import CONVERSATION
from gateleg.apps.delphi.runs.run_tables import Upload
from gateleg.host.host import Host
from gateleg.host.settings import Settings
from gateleg.jobs import JobStatus

HEAVY = ("numpy", "scipy", "sklearn", "umap", "numba", "tokenizers", "safetensors")


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[Host]:
    settings = Settings(store="embedded::memory:", objects=f"dir:{tmp_path}/objects", data=tmp_path)
    async with Host.open(settings, [application]) as host:
        yield host


@pytest.mark.parametrize(
    "steps",
    [
        "import gateleg.apps.delphi.application",
        "from gateleg.apps.delphi.work import delphi_jobs; delphi_jobs(None, None)",
        "import gateleg.apps.delphi.api, gateleg.apps.delphi.web.run_api",
        "import gateleg.apps.delphi.pages, gateleg.apps.delphi.web.showcase",
        "import gateleg.apps.delphi.service, gateleg.apps.delphi.runs.topic_names",
    ],
    ids=["application", "jobs", "routes", "pages", "use cases"],
)
def test_what_a_host_opens_with_loads_nothing_that_computes(steps: str) -> None:
    asked = f"import sys\n{steps}\nprint([name for name in {HEAVY!r} if name in sys.modules])"
    told = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True, timeout=120)
    assert told.stdout.strip() == "[]"


def test_what_the_package_exports_is_there_when_it_is_asked_for() -> None:
    import gateleg.apps.delphi as delphi

    assert all(getattr(delphi, name) is not None for name in delphi.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'analyze'"):
        delphi.analyze  # noqa: B018


def test_the_application_declares_every_table_that_its_use_cases_need() -> None:
    assert set(application.tables) == set(service.TABLES)


async def test_a_host_takes_jobs_of_every_stage(host: Host) -> None:
    assert [kind for kind in ("PCA", "UMAP", "REPORT", "FULL_PIPELINE") if kind not in host.queue.context.jobs] == []


async def test_the_demonstration_is_one_upload_and_one_pipeline_however_often_it_is_loaded(host: Host) -> None:
    for _ in range(2):
        await load_demo(host.resources["delphi"])
    uploads = [upload async for upload in host.store.query(Upload.of_conversation, conversation_id=CONVERSATION)]
    jobs = await host.queue.jobs_where(lambda job: job.in_status(status=JobStatus.PENDING))
    assert [(upload.n_participants, upload.n_comments) for upload in uploads] == [(120, 60)]
    assert [(job.job_type, job.subject) for job in jobs] == [("FULL_PIPELINE", CONVERSATION)]
