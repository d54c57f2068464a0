"""The comments of a conversation that are rejected now, whichever upload a run has read.

Uploads are immutable; a later upload rejects a comment. Code that shows results of earlier runs must apply these rejections.
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

#: The number of uploads whose rejections are cached in memory, per store.
_KEPT = 64


@dataclass(frozen=True, slots=True)
class Rejections:
    """The rejected comments of a conversation, and the words that occur only in them."""

    #: the upload with this moderation
    upload_id: UUID
    comments: frozenset[int] = frozenset()
    words: frozenset[str] = frozenset()

    def hide(self, text: str) -> bool:
        """Whether a text contains a word that may not be shown."""
        if not self.words:
            return False
        from gateleg.apps.delphi.topics.redaction import words_of

        return bool(words_of([text]) & self.words)

    def applied_to(self, conversation: Conversation) -> Conversation:
        """The conversation of an earlier upload, with the comments rejected that are rejected now."""
        if not self.comments:
            return conversation
        comments = [replace(one, moderated=-1) if one.comment_id in self.comments else one for one in conversation.comments]
        return replace(conversation, comments=comments)


async def load_rejections(store: AsyncStore, conversation_id: str) -> Rejections:
    """The rejections by the current upload, and by earlier ones for comments that it no longer contains."""
    current = await store.get(StoredConversation, conversation_id=conversation_id, consistent=True)
    return await rejections_at(store, conversation_id, current.upload_id)


async def rejections_at(store: AsyncStore, conversation_id: str, upload_id: UUID) -> Rejections:
    """The rejections at the time of an upload. They are cached, because uploads are immutable."""
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
    """Read an upload and all earlier ones. The last upload with a comment decides; earlier ones may have other texts of it."""
    uploads = [one.upload_id async for one in store.query(Upload.of_conversation, conversation_id=conversation_id)]
    earlier = uploads[uploads.index(upload_id) + 1 :] if upload_id in uploads else uploads
    rows = await _comments(store, upload_id)
    shown = [row.body for row in rows if row.moderated != -1]
    rejected: dict[int, bool] = {}
    hidden: list[str] = []
    for one in [None, *earlier]:
        listed = rows if one is None else await _comments(store, one)
        hidden += [row.body for row in listed if rejected.setdefault(row.comment_id, row.moderated == -1)]
    comments = frozenset(comment for comment, is_rejected in rejected.items() if is_rejected)
    return Rejections(upload_id, comments, _secret(hidden, shown) if comments else frozenset())


def _secret(hidden: Iterable[str], shown: Iterable[str]) -> frozenset[str]:
    # Imported late: tokenizing needs NumPy, which a host without rejected comments need not load.
    from gateleg.apps.delphi.topics.redaction import words_of

    return words_of(hidden) - words_of(shown)


_OF_STORES: WeakKeyDictionary[AsyncStore, OrderedDict[UUID, Rejections]] = WeakKeyDictionary()
