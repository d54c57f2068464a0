"""Commands on an empty store, on a filled one, and on a folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gateleg.endpoint import serve_in_thread
from gateleg.engine import Engine
from gateleg.store import Store
from tests.cli.tables.commands import TableCommands
from tests.model.seeds import jobs, mv, rag


@pytest.fixture(params=["embedded", "endpoint"])
def commands(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TableCommands]:
    """Commands on an empty store, in this process and over HTTP."""
    monkeypatch.setenv("COLUMNS", "120")
    for name, value in (("AWS_ACCESS_KEY_ID", "key"), ("AWS_SECRET_ACCESS_KEY", "secret"), ("AWS_REGION", "us-east-1")):
        monkeypatch.setenv(name, value)
    if request.param == "embedded":
        store = f"embedded:{tmp_path / 'data'}"
        Store.connect(store).close()
        yield TableCommands(store)
    else:
        with Engine(":memory:") as engine, serve_in_thread(engine) as url:
            yield TableCommands(url)


@pytest.fixture
def filled(commands: TableCommands) -> TableCommands:
    """Commands on a store with some jobs, a project with scenes and a collection."""
    assert commands.run("apply").exit_code == 0
    with commands.open() as store:
        for priority in range(5):
            store.create(jobs.Job(job_type="report", conversation_id="c", priority=priority))
        project = store.create(mv.Project(concept_prompt="A storm", character_description="a sailor"))
        for sequence in (1, 2):
            store.create(mv.Scene(project_id=project.project_id, sequence=sequence, prompt="waves", duration=2.5))
        store.create(rag.Collection(repository_id="r", name="Docs", embedding_model="m", created_by="ann"))
    return commands


@pytest.fixture
def home(tmp_path: Path) -> TableCommands:
    """Commands on a folder with five jobs."""
    commands = TableCommands(f"embedded:{tmp_path / 'data'}")
    commands.run("apply", seeds=("jobs",))
    with commands.open() as store:
        for priority in range(5):
            store.create(jobs.Job(job_type="report", conversation_id="c", priority=priority))
    return commands
