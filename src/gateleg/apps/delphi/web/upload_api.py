"""`POST /api/delphi/conversations/{conversation}/files`: upload the files of a conversation, as large as they are."""

import asyncio
import shutil
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.datastructures import UploadFile

from gateleg.apps.delphi import rules, service
from gateleg.apps.delphi.api import Name, Text, withdraw
from gateleg.apps.delphi.runs.run_tables import StoredConversation
from gateleg.apps.delphi.web.receiving import Bounds, plain_name
from gateleg.apps.delphi.web.upload_process import read_upload
from gateleg.apps.delphi.web.upload_turns import turn, upload_folder
from gateleg.apps.delphi.web.views import UploadView
from gateleg.web.api.calls import Using

router = APIRouter()
#: Files that one upload may have.
_MOST = 12
_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "properties": {"file": {"type": "array", "items": {"type": "string", "format": "binary"}}},
                    "required": ["file"],
                }
            }
        },
    }
}


@router.post("/conversations/{conversation}/files", openapi_extra=_BODY)
async def upload_files(
    call: Using,
    request: Request,
    conversation: Name,
    topic: Annotated[Text, Query(max_length=1000)] = "",
    description: Annotated[Text, Query(max_length=20_000)] = "",
    group: Annotated[
        Text | None,
        Query(min_length=1, max_length=200, description="Whose a new conversation is; without, it is open to all who are let in."),
    ] = None,
    new: Annotated[bool, Query(description="Whether the name must be free.")] = False,
) -> UploadView:
    """Upload the CSV files of an export, or a ZIP of them, as a form with one or more files. They are told apart by their columns: votes,
    comments, and if there are any flags, moderated participants and the summary. Rows that cannot be read are told by line, and nothing
    is kept then."""
    store = call.host.store
    # Who may not upload is refused before anything is read.
    current = await store.find(StoredConversation, conversation_id=conversation, consistent=True)
    _check(call, current, group, new)
    async with turn(call.principal):
        async with upload_folder() as folder:
            files = await _receive(request, folder)
            read = await read_upload(files, folder, Bounds.of(call.host.settings), conversation, topic=topic, description=description)
        made = await service.upload_conversation(store, read, group=group, check=lambda there: _check(call, there, group, new))
    await withdraw(call, conversation)
    await call.note("delphi.upload", conversation, upload_id=str(made.upload_id), votes=made.n_votes)
    return UploadView.of(made)


def _check(call: Using, current: StoredConversation | None, group: str | None, new: bool) -> None:
    rules.uploaded(call.principal, current, group)
    if new and current is not None:
        raise rules.NameTaken("There is a conversation of this name already.")


async def _receive(request: Request, folder: Path) -> list[Path]:
    """The files of a form, written into a folder each of its own, so that they keep their names."""
    found = []
    async with request.form(max_files=_MOST, max_fields=_MOST) as form:
        for number, (_, sent) in enumerate(form.multi_items()):
            if isinstance(sent, UploadFile):
                target = folder / str(number) / plain_name(sent.filename or "")
                target.parent.mkdir()
                await asyncio.to_thread(_keep, sent, target)
                found.append(target)
    return found


def _keep(sent: UploadFile, target: Path) -> None:
    with target.open("wb") as file:
        shutil.copyfileobj(sent.file, file)
