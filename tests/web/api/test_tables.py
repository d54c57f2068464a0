import httpx

from gateleg.host.host import Host
from tests.web.sample import Song


async def test_tables_are_listed_with_their_state(client: httpx.AsyncClient) -> None:
    tables = {table["name"]: table for table in (await client.get("/api/tables")).json()["items"]}
    assert {"Songs", "JobQueue", "GatelegAudit"} <= tables.keys()
    assert (tables["Songs"]["state"], tables["Songs"]["entities"], tables["Songs"]["patterns"]) == ("ACTIVE", ["Song"], 1)


async def test_a_table_is_described_with_its_patterns(client: httpx.AsyncClient) -> None:
    table = (await client.get("/api/tables/Songs")).json()
    assert table["declaration"]["entities"][0]["name"] == "Song"
    patterns = (await client.get("/api/tables/JobQueue/patterns")).json()["items"]
    found = {pattern["name"]: pattern for pattern in patterns}["Job.in_status"]
    assert (found["title"], found["required"]) == ("Jobs in a status, oldest first", ["status"])


async def test_a_pattern_is_asked_page_by_page(client: httpx.AsyncClient, host: Host) -> None:
    for number in range(5):
        await host.store.put(Song(artist="Nina", title=f"song {number}"))
    titles: list[str] = []
    cursor = None
    while True:
        ask = {"arguments": {"artist": "Nina"}, "limit": 2, "cursor": cursor}
        page = (await client.post("/api/tables/Songs/patterns/Song.of_artist", json=ask)).json()
        titles += [item["title"] for item in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert titles == [f"song {number}" for number in range(5)]
    turned = {"arguments": {"artist": "Nina"}, "newest_first": True}
    assert (await client.post("/api/tables/Songs/patterns/Song.of_artist", json=turned)).json()["items"][0]["title"] == "song 4"


async def test_a_question_that_cannot_be_asked_is_refused(client: httpx.AsyncClient) -> None:
    ask = "/api/tables/Songs/patterns/Song.of_artist"
    for body, status in (({}, 422), ({"arguments": {"colour": "red"}}, 422), ({"arguments": {"artist": "x"}, "cursor": "x"}, 400)):
        answer = await client.post(ask, json=body)
        assert (answer.status_code, bool(answer.json()["error"]["message"])) == (status, True)
    assert (await client.post("/api/tables/Songs/patterns/Song.nothing", json={})).status_code == 404
    assert (await client.post("/api/tables/Nothing/patterns/Song.of_artist", json={})).status_code == 404
    assert (await client.get("/api/tables/Nothing")).status_code == 404


async def test_a_wrong_argument_is_refused_with_advice_for_http_clients(client: httpx.AsyncClient) -> None:
    pattern = "/api/tables/Songs/patterns/Song.of_artist"
    unknown = (await client.post(pattern, json={"arguments": {"artist": "Nina", "nope": 1}})).json()["error"]
    assert unknown["message"] == "Song.of_artist has no argument nope."
    assert ".filter" not in unknown["details"]["fix"]
    missing = (await client.post(pattern, json={"arguments": {}})).json()["error"]
    assert missing["details"]["fix"] == "Send the values that the message names."
