"""`POST /api/delphi/conversations/{conversation}/files`: upload the files of a conversation."""

from typing import Annotated

from fastapi import APIRouter, Query, Request

from gateleg.apps.delphi import rules, service
from gateleg.apps.delphi.api import Name, Text, withdraw
from gateleg.apps.delphi.runs.run_tables import StoredConversation
from gateleg.apps.delphi.web.upload_reader import read_upload
from gateleg.apps.delphi.web.uploaded_files import UploadLimits
from gateleg.apps.delphi.web.views import UploadView
from gateleg.web.api.calls import Using
from gateleg.web.bodies import body_limit
from gateleg.web.uploads import UploadRules, receive_files, upload_folder, upload_slot

router = APIRouter()
#: The maximum number of files per upload.
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
@body_limit("upload")
async def upload_files(
    call: Using,
    request: Request,
    conversation: Name,
    topic: Annotated[Text, Query(max_length=1000)] = "",
    description: Annotated[Text, Query(max_length=20_000)] = "",
    group: Annotated[
        Text | None,
        Query(min_length=1, max_length=200, description="The group that a new conversation belongs to; default: open to everybody."),
    ] = None,
    scale: Annotated[int | None, Query(ge=2, le=100, description="The answers of a spreadsheet are from 1 to this number.")] = None,
    inverted: Annotated[bool, Query(description="Whether -1 means agreement and 1 disagreement.")] = False,
    new: Annotated[bool, Query(description="Refuse the upload if the conversation exists.")] = False,
) -> UploadView:
    """Upload the CSV files of an export, or a ZIP file of them, as a multipart form. Files are recognized by their columns: votes and
    comments, and optionally flags, moderated participants and the summary. Alternatively, upload one spreadsheet (XLSX, XLS, ODS or CSV)
    with one row per person and one column per statement. If rows cannot be read, the error lists them by line and nothing is stored."""
    store = call.host.store
    # Callers who may not upload are refused before the body is read.
    current = await store.find(StoredConversation, conversation_id=conversation, consistent=True)
    _check(call, current, group, new)
    async with upload_slot(call.principal):
        async with upload_folder() as folder:
            sent = await receive_files(request, folder, UploadRules(call.host.settings.upload_limit, files=_MOST))
            files = [one.path for one in sent]
            about = {"topic": topic, "description": description}
            read = await read_upload(
                files, folder, UploadLimits.of(call.host.settings), conversation, **about, scale=scale, inverted=inverted
            )
        made = await service.upload_conversation(
            store,
            read,
            group=group,
            tenant=call.principal.tenant,
            check=lambda there: _check(call, there, group, new),
        )
    await withdraw(call, conversation)
    await call.note("delphi.upload", conversation, upload_id=str(made.upload_id), votes=made.n_votes)
    return UploadView.of(made)


def _check(call: Using, current: StoredConversation | None, group: str | None, new: bool) -> None:
    rules.check_upload(call.principal, current, group)
    if new and current is not None:
        raise rules.ConversationNameTaken("A conversation with this name already exists.")
