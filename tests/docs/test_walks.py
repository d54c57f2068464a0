"""The walks of ARCHITECTURE.md name files that really run."""

import asyncio
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import httpx
import pytest
from pydantic import BaseModel

from gateleg import plain
from gateleg.host.host import Host
from gateleg.host.settings import Settings
from gateleg.jobs import AsyncQueue, GiveUp, JobContext, Jobs, JobStatus, Submission, Worker
from gateleg.model import GSI, Attr, Counter, Entity, Key, States, Table, Unique, field, state
from gateleg.store import AsyncStore, IllegalTransition, NotFound, Store, UniqueTaken
from tests.jobs.worker.test_worker import done
from tests.web.sample import make_application
from tests.web.served import listening

pytestmark = pytest.mark.skipif(any(map(plain.is_plain, plain.FAST_PATHS)), reason="the walks take the fast paths")

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "gateleg"
#: The modules that compile functions, by the first word of what such a function has instead of a file.
_COMPILERS = {"<key": "model/keys.py", "<codec": "model/codec.py"}


class Step(States):
    DRAFT = state("DRAFT", to=["DONE"])
    DONE = state("DONE")


films = Table("Films", hash="pk", range="sk", indexes=[GSI("by-step", hash="step", range="name")])


class Film(Entity, table=films):
    film: Attr[str]
    finished: Attr[int] = field(0)
    key = Key("FILM#{film}", "FILM")


class Scene(Entity, table=films):
    film: Attr[str]
    number: Attr[int]
    name: Attr[str]
    step: Attr[Step] = field(Step.DRAFT)
    key = Key("FILM#{film}", "SCENE#{number:03d}")
    counted = Counter(Film.finished, when={"step": ["DONE"]})
    once = Unique("film", "name")


class Note(Entity, table=films):
    film: Attr[str]
    text: Attr[str]
    key = Key("FILM#{film}", "NOTE")


class Greeting(BaseModel):
    name: str


def files_of_walk(title: str) -> set[str]:
    """The files that a walk names."""
    text = (ROOT / "ARCHITECTURE.md").read_text().partition("## Four walks")[2]
    walk = re.search(rf"^### {title}.*?(?=^##)", text, re.MULTILINE | re.DOTALL)
    assert walk is not None
    return {code for code in re.findall(r"`([^`\n]+\.py)`", walk[0]) if (PACKAGE / code).is_file()}


@contextmanager
def recording() -> Iterator[set[str]]:
    """The files of the package whose functions run meanwhile, on this thread and on those that it starts."""
    found: set[str] = set()

    def record(frame: FrameType, event: str, argument: Any) -> None:
        name = frame.f_code.co_filename
        if name.startswith(str(PACKAGE)):
            found.add(Path(name).relative_to(PACKAGE).as_posix())
        elif name.startswith("<"):
            # A compiled function, or the generated constructor of a dataclass.
            found.add(_COMPILERS.get(name.split(" ")[0], ""))
            module = getattr(type(frame.f_locals.get("self")), "__module__", "")
            if module.startswith("gateleg."):
                found.add(f"{module.removeprefix('gateleg.').replace('.', '/')}.py")

    threading.setprofile(record)
    sys.setprofile(record)
    try:
        yield found
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.embedded() as store:
        store.ensure_tables(films)
        yield store


jobs = Jobs()


@jobs.handler("greet")
async def greet(job: JobContext, config: Greeting) -> str:
    job.log("greeting")
    job.progress(1, 1)
    return f"Hello {config.name}"


@jobs.handler("greet-in-thread")
def greet_in_thread(job: JobContext, config: Greeting) -> str:
    return f"Hello {config.name}"


@jobs.handler("greet-in-process", runs="process")
def greet_in_process(job: JobContext, config: Greeting) -> str:
    return f"Hello {config.name}"


@jobs.handler("refuse")
async def refuse(job: JobContext, config: Greeting) -> None:
    raise GiveUp("It knows nobody of that name.")


def files_not_run(title: str, ran: set[str]) -> set[str]:
    """The files that a walk names and that did not run."""
    named = files_of_walk(title)
    assert len(named) > 5
    return named - ran


def test_a_get(store: Store) -> None:
    with recording() as ran:
        store.put(Note(film="a", text="first"))
        assert store.get(Note, film="a") == store.get(Note, film="a", consistent=True)
        with pytest.raises(NotFound):
            store.get(Note, film="b")
    assert files_not_run("A get", ran) == set()


def test_a_patch(store: Store) -> None:
    with recording() as ran:
        store.create(Film(film="a"))
        first, _ = [store.create(Scene(film="a", number=number, name=f"scene {number}")) for number in range(2)]
        store.patch(first, Scene.step.to(Step.DONE))
        with pytest.raises(IllegalTransition):
            store.patch(first, Scene.step.to(Step.DONE))
        with pytest.raises(UniqueTaken):
            store.patch(first, Scene.name.set("scene 1"))
        note = store.put(Note(film="a", text="first"))
        for text in ("second", "third", "fourth"):
            store.patch(note, Note.text.set(text))
    assert store.get(Film, film="a").finished == 1
    assert files_not_run("A patch", ran) == set()


async def test_a_job(tmp_path: Path) -> None:
    with recording() as ran:
        async with AsyncStore.connect(f"embedded:{tmp_path}/data") as store:
            queue = AsyncQueue(store, jobs)
            await queue.ensure_tables()
            worker = Worker(queue, scratch=tmp_path / "scratch")
            running = asyncio.ensure_future(worker.run())
            try:
                names = ["greet", "greet-in-thread", "greet-in-process", "refuse"]
                ended = [await done(queue, Submission(name, Greeting(name="Ada"), idempotency_key=name)) for name in names]
            finally:
                worker.stop()
                await running
    assert [job.status for job in ended] == [JobStatus.COMPLETED] * 3 + [JobStatus.FAILED]
    assert files_not_run("A job", ran) == set()


async def test_a_request(tmp_path: Path) -> None:
    settings = Settings(store="embedded::memory:", objects=f"dir:{tmp_path}/objects", data=tmp_path)
    async with Host.open(settings, [make_application()]) as host, listening(host) as port:
        headers = {"authorization": f"Bearer {host.local.token}"}
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=headers) as client:
            with recording() as ran:
                answers = [
                    await client.post("/api/jobs", json={"job_type": name, "config": {"numbers": [1]}}) for name in ("add", "nobody")
                ]
    assert [answer.status_code for answer in answers] == [201, 422]
    assert files_not_run("A request", ran) == set()
