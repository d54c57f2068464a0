from pathlib import Path

from gateleg.apps.delphi.runs.run_tables import StoredConversation, Upload
from gateleg.apps.delphi.service import upload_conversation
from gateleg.apps.delphi.web.listing import COLUMNS, listing
from tests.apps.delphi.served import conversation, serving


async def test_conversations_are_listed_with_their_size_and_their_last_map(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        store = served.host.store
        await upload_conversation(store, conversation("not mapped"))
        found = await listing(store, StoredConversation.recent(), limit=10, cursor=None)
        rows = {row.id: row for row in found.rows}
        stored = await store.get(StoredConversation, conversation_id="town")
        upload = await store.get(Upload, upload_id=stored.upload_id)
        assert rows["town"].cells["participants"] == f"{upload.n_participants:,}"
        assert rows["town"].cells["votes"] == f"{upload.n_votes:,}"
        assert rows["town"].href == "/delphi/town"
        assert "at" in str(rows["town"].cells["mapped"])
        assert "not yet" in str(rows["not mapped"].cells["mapped"])
        assert set(rows["town"].cells) == {column.key for column in COLUMNS}


async def test_a_list_of_conversations_is_paged(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        await upload_conversation(served.host.store, conversation("another"))
        first = await listing(served.host.store, StoredConversation.recent(), limit=1, cursor=None)
        second = await listing(served.host.store, StoredConversation.recent(), limit=1, cursor=first.next)
        assert {row.id for page in (first, second) for row in page.rows} == {"town", "another"}
