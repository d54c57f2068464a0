"""Suggestions of comments that describe their authors, and moderators' decisions on them, which are a new upload with other flags."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gateleg.apps.delphi.errors import CommentMissing, RunMissing, UploadRaced
from gateleg.apps.delphi.runs.origin import TOPICS_STAGE
from gateleg.apps.delphi.runs.uploads import find_upload, load_comments, load_conversation, upload_conversation
from gateleg.apps.delphi.service import latest_run

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from gateleg.apps.delphi.conversations.conversation import Comment
    from gateleg.apps.delphi.runs.run_tables import StoredConversation, Upload
    from gateleg.apps.delphi.topics.self_descriptions import Suggestion
    from gateleg.store import AsyncStore


@dataclass(frozen=True, slots=True)
class SuggestedComment:
    """A comment of the current upload that may describe its author, and why."""

    comment: Comment
    suggestion: Suggestion


async def suggestions_of(store: AsyncStore, conversation_id: str) -> list[SuggestedComment]:
    """The suggestions of the newest run with topics that no moderator has decided: neither marked nor rejected. None without a run."""
    # Imported late: a host that only lists conversations need not load NumPy.
    from gateleg.apps.delphi.topics.self_descriptions import Suggestion

    try:
        run = await latest_run(store, conversation_id, TOPICS_STAGE)
    except RunMissing:
        return []
    comments = {one.comment_id: one for one in await load_comments(store, await find_upload(store, conversation_id))}
    listed = [Suggestion(**one) for one in run.summary.get("self_descriptions", ())]
    known = [SuggestedComment(comments[one.comment_id], one) for one in listed if one.comment_id in comments]
    return [one for one in known if one.comment.moderated != -1 and not one.comment.is_meta]


async def mark_meta(
    store: AsyncStore,
    conversation_id: str,
    comments: Collection[int],
    is_meta: bool = True,
    check: Callable[[StoredConversation | None], object] = lambda current: None,
) -> Upload:
    """Mark comments as being about participants, or take the mark away: a new upload, equal to the current one but for these flags.

    `check` is as for `upload_conversation`. Raises `CommentMissing` if the conversation lacks one of the comments.
    """
    upload = await find_upload(store, conversation_id)
    read = await load_conversation(store, upload)
    missing = sorted(set(comments) - {one.comment_id for one in read.comments})
    if missing:
        raise CommentMissing(f"Conversation {conversation_id!r} has no comment {missing[0]}.")

    def unchanged(current: StoredConversation | None) -> None:
        check(current)
        if current is None or current.upload_id != upload.upload_id:
            raise UploadRaced(f"Somebody else uploaded to conversation {conversation_id!r} at the same time.")

    changed = [replace(one, is_meta=is_meta) if one.comment_id in comments else one for one in read.comments]
    return await upload_conversation(store, replace(read, comments=changed), check=unchanged)
