from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid4

import httpx
import pytest
import pytest_asyncio

from gateleg.apps.delphi.api import RESULTS
from gateleg.apps.delphi.opinions.config import VotesConfig
from gateleg.apps.delphi.runs.origin import Origin
from gateleg.apps.delphi.service import start_run
from tests.apps.delphi.served import GROUP, Served, analysed, serving
from tests.apps.delphi.workbooks import write_xlsx

VOTES = "timestamp,comment-id,voter-id,vote\n" + "".join(
    f"17675712{c:02d},{c},{p},{1 if (p + c) % 2 else -1}\n" for p in range(12) for c in range(8)
)
COMMENTS = "comment-id,comment-body\n" + "".join(f'{number},"What should happen to place {number}, and when?"\n' for number in range(8))
FILES: dict[str, Any] = {"votes": VOTES, "comments": COMMENTS}
HOME = "/api/delphi"
TOWN = f"{HOME}/conversations/town"


#: One host for all tests, which runs in one event loop.
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    """A host that tests share: they leave the conversation `town` as it is, and use a `place` of their own for another."""
    async with serving(tmp_path_factory.mktemp("served")) as served:
        yield served


@pytest_asyncio.fixture(loop_scope="module")
async def alone(tmp_path: Path) -> AsyncIterator[Served]:
    """A host for one test, which may do anything with it."""
    async with serving(tmp_path) as served:
        yield served


@pytest.fixture
def place() -> str:
    """Where a conversation that is not there yet would be."""
    return f"{HOME}/conversations/{uuid4().hex}"


def refused(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def test_an_upload_is_a_conversation_that_can_be_read(served: Served, place: str) -> None:
    told = await served["operator"].put(place, json=FILES | {"topic": "Places"})
    assert (told.status_code, told.json()["n_votes"], told.json()["n_participants"]) == (200, 96, 12)
    found = (await served["stranger"].get(place)).json()
    assert (found["topic"], found["group"], found["upload"]["n_comments"], found["latest"]) == ("Places", None, 8, {})
    comments = (await served["stranger"].get(f"{place}/comments", params={"limit": 3})).json()
    assert [one["comment_id"] for one in comments["items"]] == [0, 1, 2]


async def test_rows_that_cannot_be_read_are_told_by_line_and_nothing_is_kept(served: Served, place: str) -> None:
    told = await served["operator"].put(place, json=FILES | {"votes": f"{VOTES}1767571300,1,1,7\n1767571300,x,1,1\n"})
    assert refused(told) == (422, "unreadable-rows")
    details = told.json()["error"]["details"]
    assert [(one["file"], one["line"]) for one in details["problems"]] == [("votes.csv", 98), ("votes.csv", 99)]
    assert (await served["admin"].get(place)).status_code == 404


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (FILES | {"votes": "a,b\n1,2\n"}, "missing-columns"),
        (FILES | {"comments": "comment-id,comment-body\n1,only one\n"}, "unreadable-file"),
        ({"votes": VOTES}, "invalid"),
        (FILES | {"grup": "planners"}, "invalid"),
        (FILES | {"group": ""}, "invalid"),
    ],
)
async def test_files_that_are_none_are_refused(served: Served, place: str, sent: dict[str, Any], code: str) -> None:
    assert refused(await served["operator"].put(place, json=sent)) == (422, code)


def parts(**files: str | bytes) -> list[tuple[str, tuple[str, str | bytes]]]:
    return [("file", (f"{name}.csv", text)) for name, text in files.items()]


async def test_files_are_uploaded_as_a_form_far_above_the_usual_limit(served: Served, place: str) -> None:
    many = VOTES + "".join(f"1767571300,{c},{p},1\n" for p in range(12, 12_000) for c in range(8))
    assert len(many) > 1_000_000
    told = await served["operator"].post(
        f"{place}/files", params={"topic": "Places"}, files=parts(a=many, b=COMMENTS, c="comment-id,is-meta\n1,true\n")
    )
    assert (told.status_code, told.json()["n_votes"], told.json()["topic"]) == (200, 12_000 * 8, "Places")
    comments = (await served["operator"].get(f"{place}/comments")).json()["items"]
    assert [one["comment_id"] for one in comments if one["is_meta"]] == [1]


async def test_a_form_with_rows_that_cannot_be_read_is_told_by_file_and_line_and_nothing_is_kept(served: Served, place: str) -> None:
    told = await served["operator"].post(f"{place}/files", files=parts(mine=f"{VOTES}1767571300,1,1,7\n", b=COMMENTS))
    assert refused(told) == (422, "unreadable-rows")
    details = told.json()["error"]["details"]
    assert (details["count"], details["problems"]) == (1, [{"file": "mine.csv", "line": 98, "why": "vote is 7, not one of -1, 0, 1"}])
    assert (await served["admin"].get(place)).status_code == 404


async def test_a_form_without_files_is_refused(served: Served, place: str) -> None:
    assert refused(await served["operator"].post(f"{place}/files", files=parts(a="x"))) == (422, "unreadable-file")
    assert refused(await served["operator"].post(f"{place}/files", json={})) == (422, "unreadable-file")
    broken = await served["operator"].post(
        f"{place}/files", content=b"nonsense", headers={"content-type": "multipart/form-data; boundary=x"}
    )
    assert broken.status_code in (400, 422)


async def test_what_is_to_be_new_does_not_replace_what_is_there(alone: Served) -> None:
    told = await alone["operator"].post(f"{TOWN}/files", params={"new": "true"}, files=parts(a=VOTES, b=COMMENTS))
    assert refused(told) == (409, "name-taken")
    assert (await alone["operator"].post(f"{TOWN}/files", files=parts(a=VOTES, b=COMMENTS))).status_code == 200


async def test_who_may_not_upload_is_refused_before_the_files_are_read(served: Served) -> None:
    told = await served["viewer"].post(f"{TOWN}/files", files=parts(a="nothing of use"))
    assert refused(told) == (403, "not-allowed")


async def test_a_member_uploads_for_a_group_of_their_own_only(served: Served, place: str) -> None:
    assert refused(await served["member"].put(place, json=FILES)) == (403, "not-allowed")
    assert refused(await served["member"].put(place, json=FILES | {"group": "others"})) == (403, "not-allowed")
    assert (await served["member"].put(place, json=FILES | {"group": GROUP})).status_code == 200
    assert refused(await served["stranger"].put(place, json=FILES | {"group": "others"})) == (409, "name-taken")
    assert (await served["stranger"].get(place)).status_code == 404


async def test_an_upload_does_not_take_a_conversation_from_its_group(alone: Served) -> None:
    await alone["operator"].put(TOWN, json=FILES | {"group": "others"})
    assert (await alone["member"].get(TOWN)).json()["group"] == GROUP
    assert (await alone["stranger"].get(TOWN)).status_code == 404


async def test_conversations_are_listed_page_by_page_and_only_those_that_the_caller_may_see(alone: Served) -> None:
    for name in ("a", "b", "c"):
        await alone["operator"].put(f"{HOME}/conversations/{name}", json=FILES | ({"group": "others"} if name == "c" else {}))

    async def listed(caller: str) -> list[str]:
        found: list[str] = []
        params: dict[str, Any] = {"limit": 2}
        for _ in range(10):
            page = (await alone[caller].get(f"{HOME}/conversations", params=params)).json()
            found += [one["conversation_id"] for one in page["items"]]
            if page["next"] is None:
                break
            params["cursor"] = page["next"]
        return found

    assert await listed("viewer") == ["c", "b", "a", "town"]
    assert await listed("member") == ["b", "a", "town"]
    assert await listed("stranger") == ["c", "b", "a"]


async def test_a_cursor_that_is_forged_is_refused(served: Served) -> None:
    page = (await served["member"].get(f"{TOWN}/runs", params={"limit": 1})).json()
    forged = page["next"][:-2] + ("AA" if not page["next"].endswith("AA") else "BB")
    assert (await served["member"].get(f"{TOWN}/runs", params={"cursor": forged})).status_code == 400


async def test_a_conversation_shows_the_latest_run_of_each_stage(served: Served) -> None:
    latest = (await served["member"].get(TOWN)).json()["latest"]
    assert {stage: run["job_id"] for stage, run in latest.items()} == {
        "PCA": str(served.votes),
        "UMAP": str(served.topics),
        "REPORT": str(served.report),
    }
    one = (await served["member"].get(f"{TOWN}/runs/latest", params={"stage": "UMAP"})).json()
    assert (one["job_id"], one["status"]) == (str(served.topics), "COMPLETED")


async def test_a_conversation_without_a_run_has_no_latest_one(served: Served, place: str) -> None:
    await served["operator"].put(place, json=FILES)
    assert refused(await served["operator"].get(f"{place}/runs/latest")) == (404, "run-missing")


async def test_runs_are_listed_newest_first(served: Served) -> None:
    runs = (await served["member"].get(f"{TOWN}/runs")).json()["items"]
    assert [run["stage"] for run in runs] == ["REPORT", "UMAP", "PCA"]


async def test_a_job_is_submitted_in_the_name_of_its_caller_and_can_be_followed(served: Served) -> None:
    told = await served["member"].post(f"{TOWN}/jobs", json={"job_type": "FULL_PIPELINE"})
    job = told.json()["job"]
    assert (told.status_code, told.json()["created"], job["subject"], job["created_by"]) == (201, True, "town", "member")
    followed = await served["member"].get(told.headers["location"])
    assert (followed.status_code, followed.json()["status"]) == (200, "PENDING")
    assert (await served["stranger"].get(told.headers["location"])).status_code == 404


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        ({"job_type": "PCA", "config": {"mode": "wild"}}, "bad-config"),
        ({"job_type": "FULL_PIPELINE", "config": {"stages": [{"stage": "TEA"}]}}, "bad-config"),
        ({"job_type": "demo.import"}, "invalid"),
        ({"job_type": "PCA", "priority": 1000}, "invalid"),
    ],
)
async def test_a_job_that_cannot_be_run_is_refused_when_it_is_submitted(served: Served, sent: dict[str, Any], code: str) -> None:
    assert refused(await served["member"].post(f"{TOWN}/jobs", json=sent)) == (422, code)


async def test_a_run_whose_job_has_ended_is_not_told_as_running(alone: Served) -> None:
    sent = await alone["member"].post(f"{TOWN}/jobs", json={"job_type": "PCA"})
    job_id = UUID(sent.json()["job"]["job_id"])
    await start_run(alone.host.store, Origin(job_id, "town", datetime.now(UTC)), {})
    assert (await alone["member"].get(f"{HOME}/runs/{job_id}")).json()[0]["status"] == "RUNNING"
    await alone.host.queue.cancel(job_id)
    assert (await alone["member"].get(f"{HOME}/runs/{job_id}")).json()[0]["status"] == "CANCELLED"
    assert (await alone["member"].get(f"{TOWN}/runs")).json()["items"][0]["status"] == "CANCELLED"


async def test_a_pipeline_is_the_runs_of_its_stages(served: Served) -> None:
    runs = (await served["member"].get(f"{HOME}/runs/{served.root}")).json()
    assert [run["stage"] for run in runs] == ["PCA", "UMAP", "REPORT"]


async def test_every_table_of_results_can_be_read_by_job_and_by_conversation(served: Served) -> None:
    jobs = (served.votes, served.topics, served.report)
    empty = []
    for table in RESULTS:
        by_job = [(await served["member"].get(f"{HOME}/runs/{job}/results/{table}")).json()["items"] for job in jobs]
        by_conversation = (await served["member"].get(f"{TOWN}/results/{table}")).json()["items"]
        if not any(by_job) or not by_conversation:
            empty.append(table)
    assert empty == []


async def test_results_come_page_by_page(served: Served) -> None:
    place = f"{HOME}/runs/{served.votes}/results/Delphi_CommentRouting"
    first = (await served["member"].get(place, params={"limit": 5})).json()
    second = (await served["member"].get(place, params={"limit": 5, "cursor": first["next"]})).json()
    assert [row["comment_id"] for row in first["items"] + second["items"]] == list(range(10))


async def test_the_members_of_a_base_cluster_are_a_list(served: Served) -> None:
    rows = (await served["member"].get(f"{HOME}/runs/{served.votes}/results/Delphi_BaseClusters")).json()["items"]
    assert all(len(row["members"]) == row["size"] for row in rows)


async def test_a_table_that_holds_no_results_is_not_there(served: Served) -> None:
    for table in ("Delphi_Votes", "DelphiJobQueue"):
        assert refused(await served["admin"].get(f"{HOME}/runs/{served.votes}/results/{table}")) == (404, "not-found")
        assert refused(await served["admin"].get(f"{TOWN}/results/{table}")) == (404, "not-found")


async def test_the_files_of_a_pipeline_can_be_read_by_their_links_alone(served: Served) -> None:
    files = {one["name"]: one["url"] for one in (await served["member"].get(f"{HOME}/runs/{served.root}/artifacts")).json()}
    assert {"report.html", "map.html", "maps/groups.svg"} <= set(files)
    report = await served["nobody"].get(files["report.html"])
    assert (report.status_code, report.text[:15]) == (200, "<!doctype html>")


async def test_a_run_is_like_itself(served: Served) -> None:
    told = (await served["member"].get(f"{HOME}/comparison", params={"before": str(served.votes), "after": str(served.votes)})).json()
    assert (told["differences"]["agreement"], told["differences"]["regrouped"]) == (1.0, [])
    missing = await served["member"].get(f"{HOME}/comparison", params={"before": str(served.votes), "after": str(uuid4())})
    assert refused(missing) == (404, "not-found")


async def test_a_topic_that_is_renamed_keeps_the_name_that_it_had(alone: Served) -> None:
    topics = (await alone["member"].get(f"{HOME}/runs/{alone.topics}/results/Delphi_CommentClustersLLMTopicNames")).json()["items"]
    topic = topics[0]
    place = f"{HOME}/runs/{alone.topics}/topics/{topic['topic_key']}/name"
    told = (await alone["member"].put(place, json={"name": "What we all want"})).json()
    assert (told["topic_name"], told["model_name"]) == ("What we all want", "member")
    assert [one["topic_name"] for one in told["earlier"]] == [topic["topic_name"]]
    assert refused(await alone["member"].put(place, json={"name": ""})) == (422, "bad-topic-name")
    nowhere = f"{HOME}/runs/{alone.topics}/topics/layer9_9/name"
    assert refused(await alone["member"].put(nowhere, json={"name": "Nothing"})) == (404, "run-missing")


async def test_what_operators_and_members_change_is_in_the_audit_log(served: Served) -> None:
    await served["member"].post(f"{TOWN}/jobs", json={"job_type": "PCA"})
    noted = (await served["admin"].get("/api/audit")).json()["items"]
    assert ("delphi.submit", "member") in [(one["action"], one["actor"]) for one in noted]


@pytest.mark.parametrize(
    ("method", "place", "sent"),
    [
        ("PUT", "conversations/new", '{"votes": "a", "comments": "\\ud800"}'),
        ("PUT", "conversations/new", '{"votes": "a", "comments": "b", "topic": "\\ud800"}'),
        ("PUT", "conversations/new", '{"votes": "a", "comments": "b", "group": "\\ud800"}'),
        ("PUT", "runs/{topics}/topics/layer0_0/name", '{"name": "Parks \\ud800"}'),
        ("POST", "conversations/town/jobs", '{"job_type": "PCA", "config": {"mode": "\\ud800"}}'),
        ("POST", "conversations/town/jobs", '{"job_type": "UMAP", "config": {"\\ud800": 1}}'),
    ],
)
async def test_half_of_a_surrogate_pair_is_no_text(served: Served, method: str, place: str, sent: str) -> None:
    address = f"{HOME}/{place.format(topics=served.topics)}"
    told = await served["operator"].request(method, address, content=sent, headers={"content-type": "application/json"})
    assert told.status_code == 422
    assert told.json()["error"]["code"] in ("invalid", "bad-config")


async def test_the_maps_come_in_one_answer_for_a_stage_and_for_its_pipeline_and_only_once(served: Served) -> None:
    told = await served["member"].get(f"{HOME}/runs/{served.votes}/atlas")
    whole = await served["member"].get(f"{HOME}/runs/{served.root}/atlas")
    assert told.json() == whole.json()
    assert told.json()["people"]["count"] == sum(group["size"] for group in told.json()["groups"]) == 150
    again = await served["member"].get(f"{HOME}/runs/{served.votes}/atlas", headers={"if-none-match": told.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert refused(await served["member"].get(f"{HOME}/runs/{uuid4()}/atlas"))[0] == 404


async def test_the_timeline_of_a_run_is_told_to_those_who_see_the_conversation(served: Served) -> None:
    told = await served["member"].get(f"{HOME}/runs/{served.root}/timeline")
    assert told.status_code == 200
    moments = told.json()["moments"]
    assert [one["votes"] for one in moments] == sorted(one["votes"] for one in moments)
    assert (await served["member"].get(f"{HOME}/runs/{served.report}/timeline")).content == told.content
    # The votes stage alone has no report.
    assert refused(await served["member"].get(f"{HOME}/runs/{served.votes}/timeline"))[:2] == (404, "run-missing")
    assert refused(await served["stranger"].get(f"{HOME}/runs/{served.root}/timeline"))[0] == 404


async def test_two_pipelines_are_compared_with_their_settings_and_topics(alone: Served) -> None:
    later = uuid4()
    await analysed(alone.host, GROUP, later, VotesConfig(mode="exact"))
    told = (await alone["member"].get(f"{HOME}/comparison", params={"before": str(alone.root), "after": str(later)})).json()
    assert ("mode", "improved", "exact") in [(one["name"], one["before"], one["after"]) for one in told["settings"]]
    assert {one["kind"] for one in told["topics"]} == {"kept"}
    assert sum(one["participants"] for one in told["differences"]["moves"]) >= told["differences"]["participants"]


async def test_one_result_is_read_by_its_job_and_its_key(served: Served) -> None:
    where = f"{HOME}/runs/{served.votes}/results"
    for table, key in (
        ("Delphi_CommentExtremity", "comment_id"),
        ("Delphi_KMeansClusters", "group_key"),
        ("Delphi_RepresentativeComments", None),
    ):
        first = (await served["member"].get(f"{where}/{table}", params={"limit": 1})).json()["items"][0]
        name = f"{first['group_id']:04d}#{first['rank']:02d}" if key is None else str(first[key])
        assert (await served["member"].get(f"{where}/{table}/{quote(name, safe='')}")).json() == first
    for unknown in ("Delphi_CommentExtremity/99999", "Delphi_CommentExtremity/x", "Delphi_RepresentativeComments/1", "Delphi_Nothing/1"):
        assert refused(await served["member"].get(f"{where}/{unknown}"))[0] == 404
    assert refused(await served["stranger"].get(f"{where}/Delphi_CommentExtremity/1"))[0] == 404


async def test_results_of_a_job_are_asked_for_by_conversation_too(served: Served) -> None:
    where = f"{HOME}/runs/{served.votes}/results/Delphi_CommentExtremity"
    counts = [len((await served["member"].get(where, params={"conversation": name})).json()["items"]) for name in ("town", "village")]
    assert counts[0] > 0 == counts[1]


async def test_operators_run_all_conversations_again(alone: Served) -> None:
    assert refused(await alone["member"].post(f"{HOME}/reprocess", json={}))[0] == 403
    assert refused(await alone["operator"].post(f"{HOME}/reprocess", json={"conversations": ["town", "nowhere"]}))[0] == 404
    jobs = (await alone["operator"].post(f"{HOME}/reprocess", json={})).json()
    assert [(job["subject"], job["job_type"], job["created_by"]) for job in jobs] == [("town", "FULL_PIPELINE", "operator")]


async def test_a_spreadsheet_is_uploaded_alone_with_its_scale(served: Served, tmp_path: Path) -> None:
    book = write_xlsx(tmp_path / "survey.xlsx", [["More trees", "Fewer cars"], [4, 1], [2, 4]]).read_bytes()
    where, files = f"{HOME}/conversations/survey/files", [("file", ("survey.xlsx", book))]
    unclear = await served["operator"].post(where, files=files)
    assert refused(unclear) == (422, "unreadable-file")
    assert "scale=5" in unclear.text
    told = await served["operator"].post(f"{where}?scale=4&topic=Survey", files=files)
    assert (told.status_code, told.json()["n_votes"], told.json()["n_participants"]) == (200, 4, 2)
