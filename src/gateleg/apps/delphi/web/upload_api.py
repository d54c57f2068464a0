"""`POST /api/delphi/conversations/{conversation}/files`: upload the files of a conversation."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import Field

from gateleg.apps.delphi import rules, service
from gateleg.apps.delphi.api import Name, Text, withdraw
from gateleg.apps.delphi.runs.run_tables import StoredConversation
from gateleg.apps.delphi.web.upload_reader import read_upload
from gateleg.apps.delphi.web.uploaded_files import UploadLimits
from gateleg.apps.delphi.web.views import UploadView
from gateleg.web.api.calls import Using
from gateleg.web.bodies import body_limit
from gateleg.web.uploads import FormFields, UploadRules, form_body, receive_form, upload_folder, upload_slot

router = APIRouter()
#: The maximum number of files per upload.
_MOST = 12


class UploadFields(FormFields):
    """What may be sent along with the files, in the query or in the form."""

    topic: Text = Field("", max_length=1000)
    description: Text = Field("", max_length=20_000)
    group: Text | None = Field(
        None, min_length=1, max_length=200, description="The group that a new conversation belongs to; default: open to everybody."
    )
    scale: int | None = Field(None, ge=2, le=100, description="The answers of a spreadsheet are from 1 to this number.")
    inverted: bool = Field(False, description="Whether -1 means agreement and 1 disagreement.")
    new: bool = Field(False, description="Refuse the upload if the conversation exists.")


@router.post("/conversations/{conversation}/files", openapi_extra=form_body(UploadFields, many=True))
@body_limit("upload")
async def upload_files(call: Using, request: Request, conversation: Name, query: Annotated[UploadFields, Query()]) -> UploadView:
    """Upload the CSV files of an export, or a ZIP file of them, as a multipart form. Files are recognized by their columns: votes and
    comments, and optionally flags, moderated participants and the summary. Alternatively, upload one spreadsheet (XLSX, XLS, ODS or CSV)
    with one row per person and one column per statement. If rows cannot be read, the error lists them by line and nothing is stored."""
    store = call.host.store
    # Callers who may not upload are refused before the body is read, unless their group may still come in the form.
    current = await store.find(StoredConversation, conversation_id=conversation, consistent=True)
    if current is not None or query.group is not None or not call.principal.groups:
        _check(call, current, query.group, query.new)
    async with upload_slot(call.principal):
        async with upload_folder() as folder:
            form = await receive_form(request, folder, UploadRules(call.host.settings.upload_limit, files=_MOST), query)
            sent = form.fields
            _check(call, current, sent.group, sent.new)
            read = await read_upload(
                [file.path for file in form.files],
                folder,
                UploadLimits.of(call.host.settings),
                conversation,
                topic=sent.topic,
                description=sent.description,
                scale=sent.scale,
                inverted=sent.inverted,
            )
        made = await service.upload_conversation(
            store,
            read,
            group=sent.group,
            tenant=call.principal.tenant,
            check=lambda there: _check(call, there, sent.group, sent.new),
        )
    await withdraw(call, conversation)
    await call.note("delphi.upload", conversation, upload_id=str(made.upload_id), votes=made.n_votes)
    return UploadView.of(made)


def _check(call: Using, current: StoredConversation | None, group: str | None, new: bool) -> None:
    rules.check_upload(call.principal, current, group)
    if new and current is not None:
        raise rules.ConversationNameTaken("A conversation with this name already exists.")
