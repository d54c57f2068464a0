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
    """What the upload that counts says of a conversation's comments."""
    current = await store.get(StoredConversation, conversation_id=conversation_id, consistent=True)
    kept = _OF_STORES.setdefault(store, OrderedDict())
    if current.upload_id not in kept:
        kept[current.upload_id] = await _read(store, current)
        while len(kept) > _KEPT:
            kept.popitem(last=False)
    return kept[current.upload_id]


async def rejected_ids(store: AsyncStore, upload_id: UUID) -> frozenset[int]:
    """The comments that an upload says are rejected."""
    return frozenset([row.comment_id for row in await _comments(store, upload_id) if row.moderated == -1])


async def comment_ids(store: AsyncStore, upload_id: UUID) -> frozenset[int]:
    """The comments of an upload."""
    return frozenset([row.comment_id for row in await _comments(store, upload_id)])


async def _comments(store: AsyncStore, upload_id: UUID) -> list[StoredComment]:
    return [row async for row in store.query(StoredComment.of_upload, upload_id=upload_id, consistent=True)]


async def _read(store: AsyncStore, current: StoredConversation) -> Rejections:
    rows = await _comments(store, current.upload_id)
    rejected = frozenset(row.comment_id for row in rows if row.moderated == -1)
    if not rejected:
        return Rejections(current.upload_id)
    shown = [row.body for row in rows if row.moderated != -1]
    return Rejections(current.upload_id, rejected, _secret(await _bodies(store, current, rejected), shown))


async def _bodies(store: AsyncStore, current: StoredConversation, rejected: frozenset[int]) -> list[str]:
    """What rejected comments say in any upload: the last one may have blanked them."""
    uploads = [one.upload_id async for one in store.query(Upload.of_conversation, conversation_id=current.conversation_id)]
    found: list[str] = []
    for upload_id in dict.fromkeys([current.upload_id, *uploads]):
        found += [row.body for row in await _comments(store, upload_id) if row.comment_id in rejected]
    return found


def _secret(hidden: Iterable[str], shown: Iterable[str]) -> frozenset[str]:
    # Dividing texts into words loads what computes; a host that has nothing rejected does without.
    from gateleg.apps.delphi.topics.redaction import words_of

    return words_of(hidden) - words_of(shown)


_OF_STORES: WeakKeyDictionary[AsyncStore, OrderedDict[UUID, Rejections]] = WeakKeyDictionary()
