"""Stores and loads conversations. An upload is complete before anything refers to it, so nobody reads a partial one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.delphi.conversations.conversation import Comment, Conversation
from gateleg.apps.delphi.errors import ConversationMissing, UploadRaced
from gateleg.apps.delphi.runs.chunks import pack, unpack
from gateleg.apps.delphi.runs.run_tables import StoredComment, StoredConversation, Upload, VotesChunk
from gateleg.store import AlreadyExists, LostRace

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from gateleg.apps.delphi.conversations.votes import Votes
    from gateleg.store import AsyncStore

#: The number of votes per item; packed, each takes about seven bytes.
VOTES_PER_CHUNK = 20_000
_ROWS_AT_ONCE = 500


async def upload_conversation(
    store: AsyncStore,
    conversation: Conversation,
    *,
    group: str | None = None,
    tenant: str | None = None,
    check: Callable[[StoredConversation | None], object] = lambda current: None,
) -> Upload:
    """Store a conversation as a new upload, which jobs read from now on. Earlier uploads are kept for their runs.

    A new conversation belongs to `group` and `tenant`; an existing one keeps its own. `check` gets the existing conversation before
    anything is written, and may raise; if the conversation changes after that, the upload fails with `UploadRaced`.
    """
    import numpy as np

    current = await store.find(StoredConversation, conversation_id=conversation.conversation_id, consistent=True)
    check(current)
    votes = conversation.votes.by_person()
    removed = np.array(sorted(conversation.removed_participants), dtype=np.int64)
    cast = conversation.counted_votes()
    counted = cast.latest()
    upload = Upload(
        conversation_id=conversation.conversation_id,
        topic=conversation.topic,
        description=conversation.description,
        n_comments=len(conversation.comments),
        n_votes=len(counted),
        n_superseded=len(cast) - len(counted),
        n_participants=len(np.unique(counted.participants)),
        chunks=-(-len(votes) // VOTES_PER_CHUNK),
        removed_participants=pack(removed) if len(removed) else None,
        summary=conversation.summary,
    )
    comments = [_comment_row(comment, upload.upload_id) for comment in conversation.comments]
    for start in range(0, len(comments), _ROWS_AT_ONCE):
        await store.batch_write(comments[start : start + _ROWS_AT_ONCE])
    for chunk in range(upload.chunks):
        await store.put(_votes_chunk(votes.take(np.arange(chunk * VOTES_PER_CHUNK, len(votes))[:VOTES_PER_CHUNK]), upload.upload_id, chunk))
    upload = await store.create(upload)
    await _make_current(store, current, upload, group, tenant)
    return upload


async def _make_current(
    store: AsyncStore, current: StoredConversation | None, upload: Upload, group: str | None = None, tenant: str | None = None
) -> None:
    """Make the upload the current one, unless another upload has become current in the meantime."""
    try:
        if current is None:
            await store.create(
                StoredConversation(
                    conversation_id=upload.conversation_id,
                    topic=upload.topic,
                    upload_id=upload.upload_id,
                    group=group or None,
                    tenant=tenant,
                )
            )
        else:
            await store.patch(current, StoredConversation.upload_id.set(upload.upload_id), StoredConversation.topic.set(upload.topic))
    except (AlreadyExists, LostRace) as error:
        raise UploadRaced(f"Somebody else uploaded to conversation {upload.conversation_id!r} at the same time.") from error


async def find_upload(store: AsyncStore, conversation_id: str, upload_id: UUID | None = None) -> Upload:
    """The current upload of a conversation, or the one with an id."""
    if upload_id is None:
        current = await store.find(StoredConversation, conversation_id=conversation_id, consistent=True)
        if current is None:
            raise ConversationMissing(f"There is no conversation {conversation_id!r}.")
        upload_id = current.upload_id
    upload = await store.find(Upload, upload_id=upload_id, consistent=True)
    if upload is None or upload.conversation_id != conversation_id:
        raise ConversationMissing(f"Conversation {conversation_id!r} has no upload {upload_id}.")
    return upload


async def load_comments(store: AsyncStore, upload: Upload) -> list[Comment]:
    """The comments of an upload, by id."""
    return [_comment(row) async for row in store.query(StoredComment.of_upload, upload_id=upload.upload_id, consistent=True)]


async def load_conversation(
    store: AsyncStore,
    upload: Upload,
    *,
    max_votes: int | None = None,
    batch_size: int = 50_000,
    report: Callable[[int], object] = lambda votes: None,
) -> Conversation:
    """Load the conversation of an upload. `report` is called with the number of votes read so far, about every `batch_size` votes."""
    from gateleg.apps.delphi.conversations.votes import Votes

    comments = await load_comments(store, upload)
    parts: list[Votes] = []
    read = reported = 0
    async for row in store.query(VotesChunk.of_upload, upload_id=upload.upload_id, consistent=True):
        parts.append(Votes(unpack(row.participants), unpack(row.comments), unpack(row.choices).astype("int8"), unpack(row.times)))
        read += len(parts[-1])
        if read - reported >= batch_size:
            reported = read
            report(read)
    votes = Votes.joined(parts)
    removed = unpack(upload.removed_participants).tolist() if upload.removed_participants else []
    return Conversation(
        upload.conversation_id,
        votes if max_votes is None else votes.first(max_votes),
        comments,
        topic=upload.topic,
        description=upload.description,
        removed_participants=frozenset(removed),
        summary=upload.summary,
    )


def _votes_chunk(votes: Votes, upload_id: UUID, chunk: int) -> VotesChunk:
    return VotesChunk(
        upload_id=upload_id,
        chunk=chunk,
        participants=pack(votes.participants),
        comments=pack(votes.comments),
        choices=pack(votes.choices),
        times=pack(votes.times),
    )


def _comment_row(comment: Comment, upload_id: UUID) -> StoredComment:
    return StoredComment(
        upload_id=upload_id,
        comment_id=comment.comment_id,
        body=comment.body,
        author_id=comment.author_id,
        commented_at=comment.created_at,
        moderated=comment.moderated,
        is_meta=comment.is_meta,
    )


def _comment(row: StoredComment) -> Comment:
    return Comment(row.comment_id, row.body, row.author_id, row.commented_at, row.moderated, row.is_meta)
