"""A small application for the tests of the host."""

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from gateleg.jobs import JobContext, Jobs, Retry
from gateleg.model import Attr, Entity, Key, Pattern, Table, required
from gateleg.web import Application, Refusal, Resources

songs = Table("Songs", hash="artist", range="title")


class Song(Entity, table=songs):
    """A song of somebody."""

    artist: Attr[str]
    title: Attr[str] = required(max_length=50)

    key = Key("{artist}", "{title}")
    of_artist = Pattern(title="Songs of somebody")


class Sum(BaseModel):
    """What is to be added."""

    numbers: list[int] = Field(max_length=100)


class OutOfTune(Refusal):
    """The piano is not tuned."""

    code = "out-of-tune"
    status = 418
    fix = "Tune it."


async def add(job: JobContext, config: Sum) -> dict[str, int]:
    job.log("adding")
    job.progress(1, 2, "half")
    job.log("added")
    return {"sum": sum(config.numbers)}


async def fail(job: JobContext, config: BaseModel) -> None:
    raise ValueError("there is no such number")


def _routes(resources: Resources) -> APIRouter:
    router = APIRouter()

    @router.get("/whoami")
    async def whoami(request: Request) -> dict[str, str]:
        return {"name": request.state.principal.name, "tenant": str(request.state.principal.tenant)}

    @router.get("/piano")
    async def piano() -> None:
        raise OutOfTune("The A is flat.", details={"cents": -12})

    @router.get("/broken")
    async def broken() -> None:
        raise RuntimeError("the secret is in here")

    @router.post("/songs/{title}")
    async def sing(title: str) -> None:
        await resources.store.create(Song(artist="Nina", title=title))

    return router


def make_application() -> Application:
    jobs = Jobs()
    jobs.handler("add", config=Sum, queue="math", priority=60)(add)
    jobs.handler("fail", retry=Retry(times=0))(fail)
    return Application(name="music", title="Music", icon="music_note", tables=(songs,), jobs=jobs, routes=_routes)
