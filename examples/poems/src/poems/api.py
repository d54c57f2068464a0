"""The routes below /api/poems: an upload, a list, and a websocket that reads a poem aloud."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request, WebSocket

from gateleg.host import Resources
from gateleg.web.access import Member
from gateleg.web.bodies import body_limit
from gateleg.web.uploads import UploadRules, receive_files, upload_folder
from poems import service
from poems.settings import PoemSettings
from poems.tables import Poem


def make_routes(resources: Resources[PoemSettings]) -> APIRouter:
    """The routes. The host has recognised the caller before one is called."""
    router = APIRouter()

    @router.post("/poems", status_code=201)
    @body_limit(resources.settings.longest)
    async def add(caller: Member, request: Request, title: Annotated[str, Query(min_length=1, max_length=200)]) -> Poem:
        """Upload a poem as text. What the file is called does not matter, only what is in it."""
        rules = UploadRules(resources.settings.longest, types=frozenset({"text/plain"}))
        async with upload_folder() as folder:
            (file,) = await receive_files(request, folder, rules)
            return await service.add_poem(resources, caller, title, file.path.read_bytes())

    @router.get("/poems")
    async def listed(caller: Member) -> list[Poem]:
        """The caller's poems."""
        return await service.poems_of(resources, caller)

    @router.websocket("/poems/{poem_id}/aloud")
    async def read_aloud(socket: WebSocket, caller: Member, poem_id: UUID) -> None:
        """Send a line for each message."""
        poem = await service.poem_of(resources, caller, poem_id)
        await socket.accept()
        for line in (await resources.objects.get(poem.text)).decode().splitlines():
            await socket.receive_text()
            await socket.send_text(line)
        await socket.close()

    return router
