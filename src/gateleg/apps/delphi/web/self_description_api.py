"""`/api/delphi/conversations/{conversation}/self-descriptions`: comments that may describe their authors, and moderators' decisions."""

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from gateleg.apps.delphi import rules, service
from gateleg.apps.delphi.api import Name, visible_conversation
from gateleg.apps.delphi.errors import RunMissing
from gateleg.apps.delphi.runs.origin import REPORT_STAGE
from gateleg.apps.delphi.runs.self_descriptions import mark_meta, suggestions_of
from gateleg.apps.delphi.web.views import UploadView
from gateleg.web.api.calls import Using
from gateleg.web.api.pages import Cursor, Limit, Listing, page_by_key

router = APIRouter()


class SuggestionView(BaseModel):
    """A comment that may describe its author rather than state an opinion."""

    comment_id: int
    body: str
    kind: str = Field(description="`identity` for sex, age, origin, belief or health; otherwise `life`.")
    reason: str


class Suggestions(Listing[SuggestionView]):
    """A page of suggestions to moderators, which change nothing by themselves."""

    without: dict[str, Any] | None = Field(
        description="What the newest report found without the comments suggested then: sizes of groups, stability, shuffles that varied as "
        "strongly, and the adjusted Rand index with its groups. Null without a report or a suggestion."
    )


class MetaMarks(BaseModel):
    """A moderator's decision."""

    model_config = ConfigDict(extra="forbid")

    comments: Annotated[list[int], Field(min_length=1, max_length=10_000, description="Their ids.")]
    is_meta: bool = Field(default=True, description="Whether they are about participants; false takes the mark away.")


@router.get("/conversations/{conversation}/self-descriptions")
async def list_suggestions(call: Using, conversation: Name, limit: Limit = 50, cursor: Cursor = None) -> Suggestions:
    """The comments that the newest run with topics suggests as descriptions of their authors, by id, each with the reason."""
    await visible_conversation(call, conversation)
    page = page_by_key(
        await suggestions_of(call.host.store, conversation),
        lambda suggested: f"{suggested.comment.comment_id:020d}",
        secret=call.host.secret,
        query=f"/api/delphi/conversations/{conversation}/self-descriptions",
        limit=limit,
        cursor=cursor,
    )
    views = [
        SuggestionView(
            comment_id=suggested.comment.comment_id,
            body=suggested.comment.body,
            kind=suggested.suggestion.kind,
            reason=suggested.suggestion.reason,
        )
        for suggested in page
    ]
    try:
        report = await service.latest_run(call.host.store, conversation, REPORT_STAGE)
    except RunMissing:
        return Suggestions(items=views, next=page.next, without=None)
    return Suggestions(items=views, next=page.next, without=(report.summary.get("self_descriptions") or {}).get("without"))


@router.post("/conversations/{conversation}/self-descriptions")
async def mark(call: Using, conversation: Name, marks: MetaMarks) -> UploadView:
    """Mark comments as being about participants (`is_meta`), or take the mark away. This is a new upload: later runs leave marked comments
    out of groups, common ground and topics, and reports show them in a section of their own."""
    rules.check_change(call.principal, await visible_conversation(call, conversation))
    upload = await mark_meta(
        call.host.store,
        conversation,
        set(marks.comments),
        marks.is_meta,
        check=lambda current: rules.check_upload(call.principal, current, None),
    )
    await call.note("delphi.mark-meta", conversation, upload_id=str(upload.upload_id), comments=len(marks.comments), is_meta=marks.is_meta)
    return UploadView.of(upload)
