"""An application with one page: a field that takes songs, and what has arrived."""

from typing import Any

from fastapi import APIRouter
from nicegui import ui

from gateleg.host import Application, Resources
from gateleg.web.console.components import UploadField, card, frame, tag
from gateleg.web.uploads import UploadKind, UploadRules
from gateleg.web.uploads.routes import upload_routes

SONG = UploadKind("song", UploadRules(5_000_000, types=frozenset({"audio/wav"})), key=lambda upload: f"shop/{upload.upload_id}/song.wav")


def routes(resources: Resources[Any]) -> APIRouter:
    router = APIRouter()
    router.include_router(upload_routes(resources, [SONG]))
    return router


def pages(resources: Resources[Any]) -> None:
    @ui.page("/shop")
    async def shop() -> None:
        with frame(title="Songs", section="shop"), card("stack"):
            arrived = tag("div", "Nothing yet.", "arrived")

            def show(upload: dict[str, Any]) -> None:
                arrived.clear()
                with arrived:
                    ui.label(f"{upload['name']} {upload['content_type']} {upload['received']}")

            UploadField("/api/shop/uploads/song", max_bytes=SONG.rules.max_bytes, accept=".wav", on_uploaded=show, part=1_000_000)


shop = Application("shop", "Shop", "store", routes=routes, pages=pages)
