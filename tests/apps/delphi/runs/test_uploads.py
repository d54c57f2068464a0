from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import numpy as np
import pytest

from gateleg.apps.delphi.conversations.conversation import Comment, Conversation
from gateleg.apps.delphi.conversations.synthetic import SyntheticPlan, synthesise
from gateleg.apps.delphi.conversations.votes import Votes
from gateleg.apps.delphi.errors import ConversationMissing, UploadRaced
from gateleg.apps.delphi.opinions.stage import analyse
from gateleg.apps.delphi.reports.findings import find
from gateleg.apps.delphi.runs import uploads
from gateleg.apps.delphi.runs.run_tables import StoredComment, StoredConversation, Upload, VotesChunk
from gateleg.apps.delphi.runs.uploads import find_upload, load_conversation, upload_conversation
from gateleg.apps.delphi.service import conversations
from gateleg.jobs import ManualClock
from gateleg.model import spec_of
from gateleg.store import AsyncStore
from gateleg.store.sizes import item_size


def cells(votes: Votes) -> list[tuple[Any, ...]]:
    return sorted(zip(votes.participants.tolist(), votes.comments.tolist(), votes.choices.tolist(), votes.times.tolist(), strict=True))


def small(topic: str = "Lunch", rows: Iterable[tuple[int, int, int, int]] = ((1, 5, 1, 10), (2, 5, -1, 11))) -> Conversation:
    comment = Comment(5, "Soup\nagain", 1, datetime(2026, 1, 1, tzinfo=UTC), 1, True)
    return Conversation("c", Votes.of(rows), [comment], topic, "About lunch", frozenset({9, 3}), {"voters": "2"})


async def test_a_conversation_is_kept_whole(store: AsyncStore) -> None:
    upload = await upload_conversation(store, small())
    assert (upload.n_comments, upload.n_votes, upload.n_participants, upload.chunks) == (1, 2, 2, 1)
    loaded = await load_conversation(store, await find_upload(store, "c"))
    assert cells(loaded.votes) == cells(small().votes)
    assert list(loaded.comments) == list(small().comments)
    assert (loaded.topic, loaded.description, loaded.removed_participants, loaded.summary) == (
        "Lunch",
        "About lunch",
        frozenset({3, 9}),
        {"voters": "2"},
    )


async def test_an_upload_counts_the_votes_that_count_and_beside_them_those_that_were_changed_later(store: AsyncStore) -> None:
    rows = [(1, 5, 1, 10), (1, 5, -1, 12), (2, 5, -1, 11), (9, 5, 1, 13), (9, 5, 0, 14)]
    upload = await upload_conversation(store, small(rows=rows))
    # Participant 9 was taken out by moderators.
    assert (upload.n_votes, upload.n_superseded, upload.n_participants) == (2, 1, 2)
    loaded = await load_conversation(store, upload)
    totals = find(loaded, analyse(loaded.votes.without(loaded.removed_participants), loaded.comments)).totals
    assert (totals.votes, totals.participants) == (upload.n_votes, upload.n_participants)
    assert cells(loaded.votes) == cells(Votes.of(rows))


async def test_votes_are_kept_in_chunks_far_below_the_limit(store: AsyncStore) -> None:
    conversation = synthesise(SyntheticPlan(participants=1500, comments=200, votes_per_participant=60)).conversation
    upload = await upload_conversation(store, conversation)
    assert upload.chunks > 3
    chunks = [chunk async for chunk in store.query(VotesChunk.of_upload, upload_id=upload.upload_id)]
    assert max(item_size(spec_of(VotesChunk).encode(chunk)) for chunk in chunks) < 200_000
    told: list[int] = []
    loaded = await load_conversation(store, upload, batch_size=30_000, report=told.append)
    assert cells(loaded.votes) == cells(conversation.votes)
    assert told
    assert told == sorted(told)


async def test_only_the_earliest_votes_when_there_is_a_limit(store: AsyncStore) -> None:
    upload = await upload_conversation(store, small())
    loaded = await load_conversation(store, upload, max_votes=1)
    assert loaded.votes.participants.tolist() == [1]


async def test_a_later_upload_counts_and_the_earlier_one_stays(store: AsyncStore) -> None:
    first = await upload_conversation(store, small())
    second = await upload_conversation(store, small("Dinner", [(7, 5, 0, 1)]))
    assert (await find_upload(store, "c")).upload_id == second.upload_id
    assert len((await load_conversation(store, first)).votes) == 2
    assert [found.upload_id async for found in store.query(Upload.of_conversation, conversation_id="c")][:2]
    assert (await store.get(StoredConversation, conversation_id="c")).topic == "Dinner"


async def test_conversations_are_listed_the_last_changed_first(store: AsyncStore, clock: ManualClock) -> None:
    for name in ("a", "b", "a"):
        clock.advance(60)
        await upload_conversation(store, Conversation(name, Votes.of([]), []))
    assert [found.conversation_id async for found in conversations(store)] == ["a", "b"]


async def test_an_upload_that_fails_half_way_changes_nothing(store: AsyncStore, monkeypatch: pytest.MonkeyPatch) -> None:
    first = await upload_conversation(store, small())

    def refuse(*_: Any) -> Any:
        raise OSError("no more room")

    monkeypatch.setattr(uploads, "_votes_chunk", refuse)
    with pytest.raises(OSError, match="no more room"):
        await upload_conversation(store, small("Dinner"))
    assert (await find_upload(store, "c")).upload_id == first.upload_id


async def test_two_uploads_at_once_do_not_overwrite_each_other(store: AsyncStore) -> None:
    await upload_conversation(store, small())
    # The first writer has read what counts; before it points to its own upload another one has.
    current = await store.get(StoredConversation, conversation_id="c")
    other = await upload_conversation(store, small("Other"))
    mine = await store.create(Upload(conversation_id="c"))
    with pytest.raises(UploadRaced):
        await uploads._make_current(store, current, mine)
    with pytest.raises(UploadRaced):
        await uploads._make_current(store, None, mine)
    assert (await find_upload(store, "c")).upload_id == other.upload_id


async def test_what_is_not_there_is_said(store: AsyncStore) -> None:
    with pytest.raises(ConversationMissing, match="no conversation 'nobody'"):
        await find_upload(store, "nobody")
    await upload_conversation(store, small())
    with pytest.raises(ConversationMissing, match="has no upload"):
        await find_upload(store, "c", uuid4())


async def test_an_upload_of_another_conversation_is_not_read(store: AsyncStore) -> None:
    upload = await upload_conversation(store, small())
    with pytest.raises(ConversationMissing):
        await find_upload(store, "d", upload.upload_id)


async def test_comments_can_be_read_one_by_one(store: AsyncStore) -> None:
    upload = await upload_conversation(store, small())
    assert (await store.get(StoredComment, upload_id=upload.upload_id, comment_id=5)).body == "Soup\nagain"


async def test_nothing_at_all_can_be_uploaded(store: AsyncStore) -> None:
    upload = await upload_conversation(store, Conversation("empty", Votes.of([]), []))
    assert upload.chunks == 0
    assert np.array_equal((await load_conversation(store, upload)).votes.participants, np.array([]))
