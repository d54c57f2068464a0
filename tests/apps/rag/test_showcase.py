"""What the overview and the search of the console show of document collections: never what somebody may not read."""

from gateleg.apps.rag.application import application
from gateleg.apps.rag.subjects import Subject
from gateleg.apps.rag.web.showcase import found_subject
from gateleg.host import SearchHit
from tests.apps.rag.people import PEOPLE
from tests.apps.rag.served import Served


async def found(served: Served, who: str, text: str) -> list[tuple[str, str, str]]:
    results = await served.host.search(PEOPLE[who], text)
    assert results.skipped == ()
    assert {hit.application for hit in results.hits} <= {application.name}
    return [(hit.kind, hit.title, hit.href) for hit in results.hits]


async def test_tiles_and_search_show_what_somebody_can_read(served: Served) -> None:
    private = await served.collection("creator", "legal", "Zanzibar papers", private=True)
    shared = await served.collection("creator", "legal", "Tide tables", description="Seen from Zanzibar")
    hidden = await served.document("legal", private, "zanzibar-secret.pdf")
    seen = await served.document("legal", shared, "zanzibar-public.pdf")
    assert application.tiles is not None
    tiles = {who: await application.tiles(served.host.resources["rag"], PEOPLE[who]) for who in ("creator", "lawyer", "outsider")}
    assert [tile.title for tile in tiles["creator"]][:2] == ["Tide tables", "Zanzibar papers"]
    assert "Zanzibar papers" not in [tile.title for tile in tiles["lawyer"]]
    assert {tile.about for tile in tiles["outsider"]} == {"in commons"}
    collection = ("Collection", "Tide tables", f"/rag/legal/collection/{shared}")
    document = ("Document", "zanzibar-public.pdf", f"/rag/legal/document/{seen.document_id}")
    own = await found(served, "creator", "ZANZIBAR")
    assert {collection, document} < set(own)
    assert ("Document", "zanzibar-secret.pdf", f"/rag/legal/document/{hidden.document_id}") in own
    assert ("Collection", "Zanzibar papers", f"/rag/legal/collection/{private}") in own
    assert set(await found(served, "lawyer", "zanzibar")) == {collection, document}
    assert await found(served, "outsider", "zanzibar") == []
    assert await found(served, "outsider", "legal") == []
    assert await found(served, "lawyer", "legal") == [("Repository", "legal", "/rag/legal")]
    assert await found(served, "lawyer", "nothing of that name") == []


async def test_a_job_is_about_a_collection_that_somebody_can_read(served: Served) -> None:
    resources = served.host.resources["rag"]
    private = await served.collection("creator", "legal", "Zanzibar papers", private=True)
    seen = SearchHit("Zanzibar papers", f"/rag/legal/collection/{private}", "Collection", "in legal")
    assert await found_subject(resources, PEOPLE["creator"], str(Subject("legal", private))) == seen
    assert await found_subject(resources, PEOPLE["lawyer"], str(Subject("legal", private))) is None
    assert await found_subject(resources, PEOPLE["lawyer"], str(Subject("legal"))) == SearchHit("legal", "/rag/legal", "Repository")
    assert await found_subject(resources, PEOPLE["outsider"], str(Subject("legal"))) is None
    assert await found_subject(resources, PEOPLE["creator"], "something else") is None


async def test_everybody_with_a_key_that_is_accepted_is_listed(served: Served) -> None:
    keys = served.host.keys
    revoked = await keys.create("gone", PEOPLE["lawyer"].role)
    await keys.revoke(revoked.key.key_id)
    listed = await keys.principals()
    assert {(one.name, one.role, one.groups, one.tenant) for one in listed} == {
        (one.name, one.role, one.groups, one.tenant) for one in PEOPLE.values()
    }
