"""A model that cannot be used is known when a job is submitted; one that fails is not passed over in silence."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from gateleg.apps.delphi.application import application
from gateleg.apps.delphi.commands import app
from gateleg.apps.delphi.service import latest_run, upload_conversation
from gateleg.apps.delphi.web.heading import WHOLE
from gateleg.host.host import Host
from gateleg.host.principal import Role
from gateleg.host.settings import load_settings
from gateleg.jobs import BadConfig, JobStatus, Submission
from gateleg.web.app import create_app
from tests.apps.delphi.answering import answering
from tests.apps.delphi.runs.test_pipeline import DOCUMENT
from tests.apps.delphi.served import conversation
from tests.apps.delphi.test_commands import _exported as exported
from tests.apps.delphi.test_work import worked

#: Configs that name models that cannot be used, and what is said.
UNUSABLE = (
    ("FULL_PIPELINE", DOCUMENT, "anthropic:claude-3-7-sonnet-20250219 needs a key"),
    ("REPORT", {"model": "magic:x"}, "'magic' is not a known provider"),
    ("REPORT", {"language": "de", "translator": "gemini:g"}, "gemini:g needs a key"),
    ("UMAP", {"naming_model": "openai:gpt"}, "openai:gpt needs a key"),
    ("UMAP", {"embedding_model": "openai:e"}, "openai:e needs a key"),
)


@asynccontextmanager
async def opened(folder: Path, more: str = "") -> AsyncIterator[tuple[Host, httpx.AsyncClient]]:
    """A host with a conversation, called by an admin."""
    file = folder / "gateleg.toml"
    file.write_text(f'store = "embedded::memory:"\nobjects = "dir:{folder}/objects"\ndata = "{folder}/data"\n{more}')
    async with Host.open(load_settings(file=file), [application]) as host:
        await upload_conversation(host.store, conversation())
        token = (await host.keys.create("admin", Role.ADMIN, groups=[])).token
        transport = httpx.ASGITransport(create_app(host, console=False), client=("127.0.0.1", 50_000))
        head = {"authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000", headers=head) as client:
            yield host, client


@pytest.mark.parametrize(("job_type", "config", "why"), UNUSABLE)
async def test_a_job_with_a_model_that_cannot_be_used_is_refused_at_every_door(
    tmp_path: Path, job_type: str, config: dict[str, object], why: str
) -> None:
    async with opened(tmp_path) as (host, client):
        with pytest.raises(BadConfig, match=why):
            await host.queue.submit(Submission(job_type, config, subject="town"))
        sent = {"job_type": job_type, "config": config}
        for path, body in (("/api/delphi/conversations/town/jobs", sent), ("/api/jobs", sent | {"subject": "town"})):
            answer = await client.post(path, json=body)
            assert (answer.status_code, why in answer.text) == (422, True), answer.text
        if job_type == "FULL_PIPELINE":
            assert (await client.post("/api/delphi/reprocess", json={"config": config})).status_code == 422
        assert (await client.get("/api/jobs")).json()["items"] == []
        # What the console submits names no such model.
        assert await host.queue.submit(Submission("FULL_PIPELINE", WHOLE, subject="town"))


async def test_a_provider_of_the_settings_is_accepted_under_its_name(tmp_path: Path) -> None:
    with answering(lambda prompt: json.dumps({"name": "x", "paragraphs": []})) as address:
        place = address.partition("@")[2]
        async with opened(tmp_path, f'[models.providers.house]\nurl = "{place}"\n') as (host, client):
            stages = [{"stage": "PCA"}, {"stage": "REPORT", "config": {"model": "house:x", "include_topics": False}}]
            answer = await client.post(
                "/api/delphi/conversations/town/jobs", json={"job_type": "FULL_PIPELINE", "config": {"stages": stages}}
            )
            assert answer.status_code == 201, answer.text
            job = await worked(host.queue, Submission("FULL_PIPELINE", {"stages": stages}, subject="town"))
            assert job.status is JobStatus.COMPLETED
            names = {"naming_model": "house:x"}
            assert (await client.post("/api/delphi/conversations/town/jobs", json={"job_type": "UMAP", "config": names})).status_code == 201


async def test_a_host_may_do_without_models_that_cannot_be_used(tmp_path: Path) -> None:
    """The document's own config on a host without a key."""
    async with opened(tmp_path, '[delphi]\nmissing_models = "do-without"\n') as (host, _):
        job = await worked(host.queue, Submission("FULL_PIPELINE", DOCUMENT, subject="town"))
        assert job.status is JobStatus.COMPLETED
        run = await latest_run(host.store, "town", "REPORT")
        report = await host.queue.get(run.job_id)
    assert run.summary["written_by"] == ["templates"]
    warnings = [line.message for line in report.logs.entries if line.level == "WARNING"]
    assert any("needs a key" in line for line in warnings)


async def test_a_model_that_fails_is_told_in_log_result_and_metric(tmp_path: Path) -> None:
    with answering(lambda prompt: "no", status=500) as address:
        async with opened(tmp_path, "[models]\nattempts = 1\n") as (host, _):
            stages = [{"stage": "PCA"}, {"stage": "UMAP", "config": {"naming_model": address}}]
            stages.append({"stage": "REPORT", "config": {"model": address}})
            job = await worked(host.queue, Submission("FULL_PIPELINE", {"stages": stages}, subject="town"))
            assert job.status is JobStatus.COMPLETED
            run = await latest_run(host.store, "town", "REPORT")
            report = await host.queue.get(run.job_id)
            topics = await host.queue.get((await latest_run(host.store, "town", "UMAP")).job_id)
    told = f"The model's answers for {len(run.summary['given_up'])} of {run.summary['sections']} sections were not usable"
    assert any(told in line.message for line in report.logs.entries if line.level == "WARNING")
    assert report.job_results is not None
    assert told in report.job_results.value["warnings"][0]
    assert report.job_results.summary_metrics["sections_given_up"] == len(run.summary["given_up"]) > 3
    assert any("keywords name them instead" in line.message for line in topics.logs.entries if line.level == "WARNING")


def test_a_model_that_fails_is_told_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = exported(tmp_path, comments=12)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gateleg.toml").write_text("[models]\nattempts = 1\n")
    words = ["run", str(folder / "votes.csv"), str(folder / "comments.csv"), "--out", "out"]
    with answering(lambda prompt: "no", status=500) as address:
        result = CliRunner().invoke(app, [*words, "--author", address, "--chat", address])
    assert result.exit_code == 0, result.output
    assert "warning: The model's answers for" in result.stderr
    assert "warning: The model gave no usable name for" in result.stderr
    assert (tmp_path / "out" / "report.html").is_file()


@pytest.mark.parametrize("option", ["--author", "--chat"])
def test_a_missing_key_is_told_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str) -> None:
    folder = exported(tmp_path, comments=12)
    monkeypatch.chdir(tmp_path)
    words = ["run", str(folder / "votes.csv"), str(folder / "comments.csv"), "--out", "out"]
    result = CliRunner().invoke(app, [*words, option, "anthropic:claude"])
    assert (result.exit_code, "anthropic:claude needs a key" in result.stderr) == (1, True)
    assert "Groups and consensus" not in result.output + result.stderr
