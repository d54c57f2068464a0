"""The pages of a member's jobs, of a real host."""

from collections.abc import Iterator

import httpx
import pytest

from gateleg.jobs import JobStatus, Submission
from tests.web.console.conftest import Served, serving
from tests.web.console.sockets import Built, opened


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A host with keys, and no worker: jobs stay as they are."""
    with serving(tmp_path_factory.mktemp("members"), "--keys", "--idle", "--application", "tests.web.console.sample:reels") as served:
        yield served


def asked(served: Served, path: str) -> httpx.Response:
    return httpx.get(
        f"{served.url}{path}", headers={"authorization": f"Bearer {served.tokens['member']}", "accept": "text/html"}, timeout=60
    )


def test_members_find_their_own_jobs_and_cancel_them(keyed: Served) -> None:
    assert "No jobs" in asked(keyed, "/reels/-/jobs").text
    with keyed.queue() as queue:
        mine = queue.submit(Submission("REEL", {"title": "Mine"}, created_by="member")).job.job_id
        others = queue.submit(Submission("REEL", {"title": "Other"}, created_by="somebody")).job.job_id
        listed = asked(keyed, "/reels/-/jobs")
        assert (listed.status_code, str(mine) in listed.text, str(others) in listed.text) == (200, True, False)
        assert [asked(keyed, f"/reels/-/jobs/{one}").status_code for one in (mine, others, "none")] == [200, 404, 404]
        page = Built(keyed.url, f"/reels/-/jobs/{mine}", keyed.tokens["member"])
        with opened(page) as socket:
            socket.send("event", page.press("Cancel"))
            while queue.get(mine).status == JobStatus.PENDING:
                socket.send("ack", {"client_id": page.id, "next_message_id": 0})
        assert queue.get(mine).status == JobStatus.CANCELLED
