"""Reports by a model of Anthropic's: a key in the settings is all that a host or the command line needs."""

from decimal import Decimal
from itertools import permutations
from pathlib import Path
from typing import Any
from uuid import uuid4

import orjson
import pytest
from typer.testing import CliRunner

from gateleg.ai import UsageDay
from gateleg.apps.delphi.application import application
from gateleg.apps.delphi.commands import app
from gateleg.apps.delphi.conversations.exports import read_export
from gateleg.apps.delphi.opinions.config import VotesConfig
from gateleg.apps.delphi.opinions.stage import analyse
from gateleg.apps.delphi.reports.claims import Agreement, Claim, Division, Majority, is_supported
from gateleg.apps.delphi.reports.findings import Findings, find
from gateleg.apps.delphi.reports.narrative import write_sections
from gateleg.apps.delphi.runs.origin import Origin
from gateleg.apps.delphi.service import VOTES_STAGE, latest_run, run_votes, upload_conversation
from gateleg.host.host import Host
from gateleg.host.settings import load_settings
from gateleg.jobs import BadConfig, Job, JobStatus, Submission
from tests.ai.speaking import said
from tests.apps.delphi.served import conversation
from tests.apps.delphi.test_commands import _exported as exported
from tests.apps.delphi.test_work import worked
from tests.apps.delphi.told import findings
from tests.net.http.faulty import Act, Service, service

pytest.importorskip("anthropic")
#: The SDK warns of models that are no longer new.
pytestmark = pytest.mark.filterwarnings("ignore:The model 'claude-3-7:DeprecationWarning")
#: As seed 002 has it.
MODEL = "claude-3-7-sonnet-20250219"
REPORT = {"model": MODEL, "include_topics": False, "include_uncertainty": False, "max_tokens": 4000, "language": "en"}


def sections(findings: Findings) -> list[Act]:
    """The sections as the model gives them: for each a call of the tool that has its structure, with true claims."""
    found = []
    for template in write_sections(findings):
        slots = {"highlights", "bridging", "divisive", "agree"} & {part.id for part in template.paragraphs}
        if kinds := sorted(slots):
            found.append(_claimed(kinds[0], _true_claim(kinds[0], findings)))
    return found


def _true_claim(slot: str, findings: Findings) -> Claim:
    letters = [group.letter for group in findings.groups]
    claims: list[Claim] = [Majority(comment=number, side="agree") for number in findings.statements]
    if slot == "bridging":
        claims = [Agreement(comment=number) for number in findings.statements]
    if slot == "divisive":
        pairs = permutations(letters, 2)
        claims = [Division(comment=n, agreeing=one, disagreeing=other) for one, other in pairs for n in findings.statements]
    return next(claim for claim in claims if is_supported(claim, findings))


def _claimed(slot: str, claim: Claim) -> Act:
    value = {"paragraphs": [{"paragraph": slot, "claims": [claim.model_dump()]}]}
    use = {"type": "tool_use", "id": "t1", "name": "SectionClaims", "input": value}
    usage = {"input_tokens": 1000, "output_tokens": 100}
    body: dict[str, Any] = {"id": "m", "type": "message", "role": "assistant", "model": MODEL, "content": [use]}
    return said(body | {"stop_reason": "tool_use", "usage": usage})


def settings_file(folder: Path, server: Service, more: str = "") -> Path:
    file = folder / "gateleg.toml"
    file.write_text(
        f'store = "embedded::memory:"\nobjects = "dir:{folder}/objects"\ndata = "{folder}/data"\n'
        f'[models.providers.anthropic]\nkey_env = "TEST_ANTHROPIC_KEY"\nurl = "{server.url}"\n'
        f'[models.prices."anthropic:{MODEL}"]\ninput = 3\noutput = 15\n{more}'
    )
    return file


async def reported(host: Host) -> Job:
    """Run a REPORT job on a host."""
    await upload_conversation(host.store, conversation())
    origin = Origin(uuid4(), "town", host.store.setup.now(), job_stage=VOTES_STAGE)
    await run_votes(host.store, origin, VotesConfig())
    return await worked(host.queue, Submission("REPORT", REPORT, subject="town"))


async def test_report_of_the_seed_runs_on_a_host_with_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_ANTHROPIC_KEY", "sk-ant-0123456789")
    with service(*sections(findings())) as server:
        async with Host.open(load_settings(file=settings_file(tmp_path, server)), [application]) as host:
            job = await reported(host)
            assert job.status is JobStatus.COMPLETED
            run = await latest_run(host.store, "town", "REPORT")
            used = [usage async for usage in host.store.query(UsageDay.of_application(application="delphi"))]
    assert run.summary["given_up"] == {}
    assert run.summary["written_by"] == [f"anthropic:{MODEL}@{server.url}"]
    assert all(b"sk-ant-0123456789" in request for request in server.requests)
    assert {orjson.loads(request.partition(b"\r\n\r\n")[2])["model"] for request in server.requests} == {MODEL}
    (usage,) = used
    assert (usage.calls, usage.unpriced) == (len(server.requests), 0)
    assert usage.cost == len(server.requests) * Decimal("0.0045")


async def test_report_without_a_key_is_refused_and_names_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEST_ANTHROPIC_KEY", raising=False)
    with service() as server:
        async with Host.open(load_settings(file=settings_file(tmp_path, server)), [application]) as host:
            with pytest.raises(BadConfig, match="TEST_ANTHROPIC_KEY is not set"):
                await reported(host)
    assert server.requests == []


async def test_spend_cap_ends_what_a_report_pays_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sections that the cap does not allow are written by templates, and the run says why."""
    monkeypatch.setenv("TEST_ANTHROPIC_KEY", "sk-ant-0123456789")
    with service(*sections(findings())) as server:
        file = settings_file(tmp_path, server, "[models.caps.applications]\ndelphi = 0.0000001\n")
        async with Host.open(load_settings(file=file), [application]) as host:
            job = await reported(host)
            run = await latest_run(host.store, "town", "REPORT")
    assert job.status is JobStatus.COMPLETED
    assert run.summary["written_by"] == ["templates"]
    assert "may spend" in str(run.summary["given_up"])
    assert server.requests == []


def test_report_of_the_seed_runs_by_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = exported(tmp_path, comments=30)
    conversation = read_export(folder / "votes.csv", folder / "comments.csv")
    found = find(conversation, analyse(conversation.votes, conversation.comments))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TEST_ANTHROPIC_KEY", "sk-ant-0123456789")
    words = ["run", str(folder / "votes.csv"), str(folder / "comments.csv"), "--no-topics", "--out", "out"]
    with service(*sections(found)) as server:
        settings_file(tmp_path, server)
        result = CliRunner().invoke(app, [*words, "--author", f"anthropic:{MODEL}"])
    assert result.exit_code == 0, result.output
    assert server.requests
    assert all(b"sk-ant-0123456789" in request for request in server.requests)
    assert f"anthropic:{MODEL}" in (tmp_path / "out" / "report.html").read_text()
