"""What is rejected in a conversation, by the uploads that say so."""

from collections.abc import AsyncIterator

import pytest

from gateleg.apps.delphi.conversations.conversation import Comment, Conversation
from gateleg.apps.delphi.conversations.votes import Votes
from gateleg.apps.delphi.runs.rejections import load_rejections, rejections_at
from gateleg.apps.delphi.runs.run_tables import Upload
from gateleg.apps.delphi.runs.uploads import upload_conversation
from gateleg.apps.delphi.service import ensure_tables
from gateleg.store import AsyncStore

PLAIN, ODD = "More trees in the park", "The quendling is a zorblatt"


@pytest.fixture
async def store() -> AsyncIterator[AsyncStore]:
    async with AsyncStore.embedded() as store:
        await ensure_tables(store)
        yield store


async def uploaded(store: AsyncStore, *comments: Comment) -> Upload:
    return await upload_conversation(store, Conversation("town", Votes.joined([]), list(comments)))


async def test_a_comment_that_was_rejected_stays_so_when_later_uploads_leave_it_out(store: AsyncStore) -> None:
    await uploaded(store, Comment(1, PLAIN), Comment(2, ODD))
    second = await uploaded(store, Comment(1, PLAIN), Comment(2, "", moderated=-1))
    await uploaded(store, Comment(1, PLAIN))
    await uploaded(store, Comment(1, PLAIN))
    rejections = await load_rejections(store, "town")
    assert rejections.comments == {2}
    assert rejections.hide("zorblatt")
    assert not rejections.hide("the park")
    assert (await rejections_at(store, "town", second.upload_id)).comments == {2}


async def test_the_last_upload_that_has_a_comment_decides(store: AsyncStore) -> None:
    first = await uploaded(store, Comment(1, PLAIN), Comment(2, ODD, moderated=-1))
    await uploaded(store, Comment(1, PLAIN, moderated=-1), Comment(2, ODD, moderated=1))
    await uploaded(store, Comment(1, PLAIN, moderated=-1))
    assert (await load_rejections(store, "town")).comments == {1}
    assert (await rejections_at(store, "town", first.upload_id)).comments == {2}


async def test_a_comment_that_was_only_left_out_is_not_rejected(store: AsyncStore) -> None:
    await uploaded(store, Comment(1, PLAIN), Comment(2, ODD))
    await uploaded(store, Comment(1, PLAIN))
    rejections = await load_rejections(store, "town")
    assert (rejections.comments, rejections.words) == (frozenset(), frozenset())
