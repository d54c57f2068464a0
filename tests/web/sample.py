"""A small application for the tests of the host."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from fastapi import APIRouter, Request, WebSocket
from pydantic import BaseModel, Field
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocketDisconnect

from gateleg.host import Application, Event, EventRoute, Listener, Refusal, Resources, Role, Surface
from gateleg.jobs import JobContext, Jobs, Retry
from gateleg.model import Attr, Entity, Key, Pattern, Table, required
from gateleg.model.errors import DerivedKeyUnknown
from gateleg.web.api.calls import Using
from gateleg.web.bodies import body_limit

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


class Band:
    """A surface: answers with the path that it sees, and counts how often it was started and stopped."""

    def __init__(self) -> None:
        self.started = self.stopped = 0
        self.app = Starlette(
            routes=[
                Route("/", self.play, methods=["GET", "POST"]),
                Route("/solo", self.play),
                WebSocketRoute("/jam", self.jam),
                WebSocketRoute("/long", self.long),
            ],
            lifespan=self.running,
        )

    @asynccontextmanager
    async def running(self, app: Starlette) -> AsyncIterator[None]:
        self.started += 1
        yield
        self.stopped += 1

    async def play(self, request: Request) -> JSONResponse:
        played = len(await request.body())
        return JSONResponse({"name": request.state.principal.name, "played": played, "root": request.scope["root_path"]})

    async def jam(self, socket: WebSocket) -> None:
        await socket.accept()
        await socket.send_text(await socket.receive_text())

    async def long(self, socket: WebSocket) -> None:
        await socket.accept()
        with suppress(WebSocketDisconnect):
            while True:
                await socket.send_text(await socket.receive_text())


def _streams(resources: Resources) -> list[EventRoute]:
    async def follow(listener: Listener) -> AsyncIterator[Event]:
        if listener.params["song"] == "secret" and listener.principal.name != "ann":
            raise OutOfTune("Nobody may hear it.")
        return notes(int(listener.last_event_id or 0))

    async def notes(after: int) -> AsyncIterator[Event]:
        for number in range(after + 1, 4):
            yield Event("note", {"number": number}, str(number))

    async def silence(listener: Listener) -> AsyncIterator[Event]:
        return _silent()

    return [
        EventRoute("/songs/{song}", follow, about="The notes of a song."),
        EventRoute("/silence", silence, role=Role.OPERATOR),
    ]


async def _silent() -> AsyncIterator[Event]:
    await asyncio.Event().wait()
    yield Event("never", {}, "0")


def _routes(resources: Resources) -> APIRouter:
    router = APIRouter()

    @router.get("/whoami")
    async def whoami(request: Request) -> dict[str, str]:
        return {"name": request.state.principal.name, "tenant": str(request.state.principal.tenant)}

    @router.get("/piano")
    async def piano() -> None:
        raise OutOfTune("The A is flat.", details={"cents": -12})

    @router.get("/broken")
    async def broken(misused: bool = False) -> None:
        if misused:
            raise DerivedKeyUnknown("The update changes the key of the secret index.")
        raise RuntimeError("the secret is in here")

    @router.post("/songs/{title}")
    async def sing(title: str) -> None:
        await resources.store.create(Song(artist="Nina", title=title))

    @router.websocket("/rehearsal")
    async def rehearsal(socket: WebSocket, call: Using) -> None:
        await socket.accept()
        while (text := await socket.receive_text()) != "end":
            if text == "piano":
                raise OutOfTune("The A is flat.")
            await socket.send_text(f"{call.principal.name}: {text}")
        await socket.close()

    @router.post("/recordings")
    @body_limit("upload")
    async def record(request: Request) -> int:
        return len(await request.body())

    @router.post("/covers/{title}")
    @body_limit(20_000)
    async def cover(request: Request, title: str) -> int:
        return len(await request.body())

    @router.post("/lists")
    @body_limit(50_000)
    async def count(numbers: list[int]) -> int:
        return len(numbers)

    @router.post("/pairs")
    @body_limit(50_000, values=30)
    async def count_few(numbers: list[int]) -> int:
        return len(numbers)

    return router


def _surfaces(resources: Resources) -> list[Surface]:
    band = resources.state["band"] = Band()
    return [
        Surface("/music/band", band.app, body_limit=500, connection_init=True),
        Surface("/graphql/music", band.app, role=Role.OPERATOR, connection_init=True),
    ]


def make_application() -> Application:
    jobs = Jobs()
    jobs.handler("add", config=Sum, queue="math", priority=60)(add)
    jobs.handler("fail", retry=Retry(times=0))(fail)
    return Application(
        name="music", title="Music", icon="music_note", tables=(songs,), jobs=jobs, routes=_routes, streams=_streams, surfaces=_surfaces
    )
