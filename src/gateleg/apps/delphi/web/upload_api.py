"""`POST /api/delphi/conversations/{conversation}/files`: upload the files of a conversation, as large as they are."""

from typing import Annotated

from fastapi import APIRouter, Query, Request

from gateleg.apps.delphi import rules, service
from gateleg.apps.delphi.api import Name, Text, withdraw
from gateleg.apps.delphi.runs.run_tables import StoredConversation
from gateleg.apps.delphi.web.upload_reading import read_upload
from gateleg.apps.delphi.web.uploaded_files import UploadLimits
from gateleg.apps.delphi.web.views import UploadView
from gateleg.web.api.calls import Using
from gateleg.web.bodies import body_limit
from gateleg.web.uploads import UploadRules, receive_files, upload_folder, upload_slot

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
@body_limit("upload")
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
    scale: Annotated[int | None, Query(ge=2, le=100, description="How many points the answers of a spreadsheet have, from 1 on.")] = None,
    inverted: Annotated[bool, Query(description="Whether a vote of -1 agrees and one of 1 disagrees.")] = False,
    new: Annotated[bool, Query(description="Whether the name must be free.")] = False,
) -> UploadView:
    """Upload the CSV files of an export, or a ZIP of them, as a form with one or more files. They are recognised by their columns: votes,
    comments, and if there are any flags, moderated participants and the summary. One spreadsheet alone (XLSX, XLS, ODS or CSV) has a row
    for each person and a column for each statement. Rows that cannot be read are listed by line, and nothing
    is kept then."""
    store = call.host.store
    # Who may not upload is refused before anything is read.
    current = await store.find(StoredConversation, conversation_id=conversation, consistent=True)
    _check(call, current, group, new)
    async with upload_slot(call.principal):
        async with upload_folder() as folder:
            sent = await receive_files(request, folder, UploadRules(call.host.settings.upload_limit, files=_MOST))
            files = [one.path for one in sent]
            said = {"topic": topic, "description": description}
            read = await read_upload(
                files, folder, UploadLimits.of(call.host.settings), conversation, **said, scale=scale, inverted=inverted
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
        raise rules.NameTaken("There is a conversation of this name already.")
