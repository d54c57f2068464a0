"""What moderators have rejected in a conversation by now, whichever upload a run has read.

Uploads are never changed: a comment is rejected by a later one. Whoever shows what an earlier run has found asks here first.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from gateleg.apps.delphi.runs.run_tables import StoredComment, StoredConversation, Upload

if TYPE_CHECKING:
    from collections.abc import Iterable
    from uuid import UUID

    from gateleg.apps.delphi.conversations.conversation import Conversation
    from gateleg.store import AsyncStore

#: Conversations whose rejections are kept in memory.
_KEPT = 64


@dataclass(frozen=True, slots=True)
class Rejections:
    """The rejected comments of a conversation, and the words that stand in them and in no comment that is shown."""

    #: the upload that says so
    upload_id: UUID
    comments: frozenset[int] = frozenset()
    words: frozenset[str] = frozenset()

    def hide(self, text: str) -> bool:
        """Whether a text has a word that may not be shown."""
        if not self.words:
            return False
        from gateleg.apps.delphi.topics.redaction import words_of

        return bool(words_of([text]) & self.words)

    def applied_to(self, conversation: Conversation) -> Conversation:
        """The conversation of an earlier upload, with the comments rejected that are rejected by now."""
        if not self.comments:
            return conversation
        comments = [replace(one, moderated=-1) if one.comment_id in self.comments else one for one in conversation.comments]
        return replace(conversation, comments=comments)


async def load_rejections(store: AsyncStore, conversation_id: str) -> Rejections:
    """What the upload that counts says of a conversation's comments, and earlier ones of comments that it no longer has."""
    current = await store.get(StoredConversation, conversation_id=conversation_id, consistent=True)
    return await rejections_at(store, conversation_id, current.upload_id)


async def rejections_at(store: AsyncStore, conversation_id: str, upload_id: UUID) -> Rejections:
    """What was rejected when an upload counted. Uploads are never changed, so it is read once."""
    kept = _OF_STORES.setdefault(store, OrderedDict())
    if upload_id not in kept:
        kept[upload_id] = await _read(store, conversation_id, upload_id)
        while len(kept) > _KEPT:
            kept.popitem(last=False)
    return kept[upload_id]


async def comment_ids(store: AsyncStore, upload_id: UUID) -> frozenset[int]:
    """The comments of an upload."""
    return frozenset([row.comment_id for row in await _comments(store, upload_id)])


async def _comments(store: AsyncStore, upload_id: UUID) -> list[StoredComment]:
    return [row async for row in store.query(StoredComment.of_upload, upload_id=upload_id, consistent=True)]


async def _read(store: AsyncStore, conversation_id: str, upload_id: UUID) -> Rejections:
    """Read an upload and those before it: the last one that has a comment decides, and what it says may stand in an earlier one only."""
    uploads = [one.upload_id async for one in store.query(Upload.of_conversation, conversation_id=conversation_id)]
    earlier = uploads[uploads.index(upload_id) + 1 :] if upload_id in uploads else uploads
    rows = await _comments(store, upload_id)
    shown = [row.body for row in rows if row.moderated != -1]
    rejected: dict[int, bool] = {}
    hidden: list[str] = []
    for one in [None, *earlier]:
        said = rows if one is None else await _comments(store, one)
        hidden += [row.body for row in said if rejected.setdefault(row.comment_id, row.moderated == -1)]
    comments = frozenset(comment for comment, is_rejected in rejected.items() if is_rejected)
    return Rejections(upload_id, comments, _secret(hidden, shown) if comments else frozenset())


def _secret(hidden: Iterable[str], shown: Iterable[str]) -> frozenset[str]:
    # Dividing texts into words loads what computes; a host that has nothing rejected does without.
    from gateleg.apps.delphi.topics.redaction import words_of

    return words_of(hidden) - words_of(shown)


_OF_STORES: WeakKeyDictionary[AsyncStore, OrderedDict[UUID, Rejections]] = WeakKeyDictionary()
