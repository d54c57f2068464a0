"""What moderators have rejected leaves in no byte of any output."""

import csv
import io
import re
from base64 import b64decode
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import numpy as np
import pypdfium2
import pytest

from gateleg.ai import Models
from gateleg.apps.delphi import service
from gateleg.apps.delphi.api import RESULTS
from gateleg.apps.delphi.application import application
from gateleg.apps.delphi.conversations.conversation import Comment, Conversation
from gateleg.apps.delphi.conversations.synthetic import SyntheticPlan, synthesise
from gateleg.apps.delphi.opinions.stage import analyse
from gateleg.apps.delphi.reports.artifacts import data_files, make_artifacts, translated_files
from gateleg.apps.delphi.reports.chromium import print_files
from gateleg.apps.delphi.reports.findings import find
from gateleg.apps.delphi.reports.moments import with_moments
from gateleg.apps.delphi.reports.narrative import write_sections
from gateleg.apps.delphi.service import upload_conversation
from gateleg.apps.delphi.topics.config import TopicsConfig
from gateleg.apps.delphi.topics.stage import Topics, analyse_comments
from gateleg.host.host import Host
from gateleg.host.principal import Role
from gateleg.host.settings import Settings
from gateleg.jobs import AsyncQueue, Job, JobStatus, Submission
from gateleg.web.app import create_app
from tests.apps.delphi.reports.test_chromium import needs_chromium
from tests.apps.delphi.reports.test_translation import foreign, translating
from tests.apps.delphi.test_work import followed, worked
from tests.apps.delphi.texts import local_embeddings
from tests.apps.delphi.topics.test_names import Answers

PAGES = ("report", "summary", "map", "replay")
#: Words that stand in rejected comments only: as many alike as make a topic, and one in each of some others.
WORDS = ("zorblatt", "flimwick", "quendling")
SECRET = re.compile("|".join(WORDS), re.IGNORECASE)


@cache
def planted() -> Conversation:
    """A conversation of whose 40 comments the last 12 are rejected, all of them about the same."""
    found = synthesise(SyntheticPlan(participants=60, comments=40, topics=3, rejected=0.0, seed=2)).conversation
    comments = [
        replace(one, moderated=-1, body=f"Zorblatt flimwick number {one.comment_id} is a quendling, says the zorblatt.")
        if one.comment_id >= 28
        else one
        for one in found.comments
    ]
    return replace(found, conversation_id="town", comments=comments)


def texts_of(content: bytes) -> Iterator[str]:
    """A file, and every file inside of it."""
    text = content.decode(errors="replace")
    yield text
    for packed in re.findall(r"base64,([A-Za-z0-9+/=]+)", text):
        yield b64decode(packed).decode(errors="replace")


def artifacts_of(conversation: Conversation, topics: Topics) -> dict[str, bytes]:
    opinions = analyse(conversation.votes, conversation.comments)
    plain = find(conversation, opinions, topics)
    findings = with_moments(plain, conversation.votes, opinions.moderation, opinions.matrix.participants)
    data = data_files(findings, opinions.matrix, conversation.comments)
    files = make_artifacts(findings, write_sections(findings), data, "templates", opinions.matrix)
    asked: list[str] = []
    with translating(foreign, asked) as address, Models() as models:
        files |= translated_files(models.chat(address), files, "de")
    assert {"data/timeline.json", "data/bridging.csv", *(f"{page}.{end}" for page in PAGES for end in ("html", "de.html"))} <= set(files)
    assert not SECRET.search("".join(asked))
    return files


def test_no_file_of_a_report_has_a_word_of_a_rejected_comment() -> None:
    files = artifacts_of(planted(), analyse_comments(planted().comments, local_embeddings()))
    assert [name for name, content in files.items() if any(SECRET.search(text) for text in texts_of(content))] == []


@pytest.mark.browser
@needs_chromium
def test_no_printed_page_has_a_word_of_a_rejected_comment() -> None:
    files = print_files(artifacts_of(planted(), analyse_comments(planted().comments, local_embeddings())), ["pdf"])
    assert set(files) == {"report.pdf", "summary.pdf", "report.de.pdf", "summary.de.pdf"}
    for name, content in files.items():
        with pypdfium2.PdfDocument(content) as document:
            text = "".join(page.get_textpage().get_text_bounded() for page in document)
        assert "votes" in text
        assert not SECRET.search(text), name


def test_rejected_comments_have_no_vector_and_no_topic() -> None:
    topics = analyse_comments(planted().comments, local_embeddings())
    assert topics.comment_ids.tolist() == list(range(28))
    assert [topic.name for layer in topics.topics for topic in layer if not topic.comments] == []


def test_no_model_reads_a_rejected_comment() -> None:
    chat: Any = Answers(*["broken"] * 50)
    analyse_comments(planted().comments, local_embeddings(), chat=chat)
    assert chat.asked
    assert not SECRET.search(repr(chat.asked))


def test_meta_and_excluded_comments_have_no_topic_either() -> None:
    comments = [Comment(number, f"The night bus number {number} is always late", is_meta=number == 1) for number in range(5)]
    topics = analyse_comments(comments, local_embeddings(), TopicsConfig(excluded_comments=frozenset({3})))
    assert topics.comment_ids.tolist() == [0, 2, 4]


def test_a_comment_that_was_rejected_after_topics_were_found_takes_its_words_along() -> None:
    before = replace(planted(), comments=[replace(one, moderated=1) for one in planted().comments])
    topics = analyse_comments(before.comments, local_embeddings())
    assert SECRET.search(repr(topics.topics))
    files = artifacts_of(planted(), topics)
    assert [name for name, content in files.items() if any(SECRET.search(text) for text in texts_of(content))] == []


async def test_no_route_and_no_job_tells_a_word_of_a_rejected_comment(tmp_path: Path) -> None:
    async with _mapped(tmp_path, planted()) as (client, _, root):
        await _assert_silent(client, root)
        assert await _files(client, root)


async def test_a_comment_that_is_rejected_after_a_run_leaves_every_route_and_every_file_of_it(tmp_path: Path) -> None:
    """Files are gone at once, with the links that were given out, and come back without the comment; rows hide it at once."""
    before = replace(planted(), comments=[replace(one, moderated=1) for one in planted().comments])
    async with _mapped(tmp_path, before) as (client, queue, root):
        given_out = await _files(client, root)
        assert _leaking_files(tmp_path)

        job = await _reject(client)
        assert _leaking_files(tmp_path) == []
        assert {(await client.get(url)).status_code for url in given_out.values()} == {404}
        assert await _files(client, root) == {}
        await _assert_silent(client, root)

        done = await followed(queue, job)
        assert (done.status, done.job_type) == (JobStatus.COMPLETED, "REDACTION")
        assert list(await _files(client, root)) == list(given_out)
        assert {(await client.get(url)).status_code for url in given_out.values()} == {200}
        assert _leaking_files(tmp_path) == []
        await _assert_silent(client, root)
        jobs = [UUID(one["job_id"]) for one in (await client.get(f"/api/delphi/runs/{root}")).json()]
        rows = [row for kind in service.RESULTS for job_id in jobs async for row in service.results(queue.store, kind, job_id)]
        assert len(rows) > 100
        assert [row for row in rows if SECRET.search(repr(row))] == []

        # The next export no longer has them at all.
        shown = [one for one in planted().comments if one.moderated != -1]
        votes = planted().votes
        kept = votes.take(np.flatnonzero(votes.comments < len(shown)))
        answer = await client.put("/api/delphi/conversations/town", json=_sent(replace(planted(), comments=shown, votes=kept)))
        assert answer.status_code == 200, answer.text
        atlas = await client.get(f"/api/delphi/runs/{root}/atlas")
        assert atlas.status_code == 200
        assert not SECRET.search(atlas.text)
        assert len((await client.get("/api/jobs?job_type=REDACTION")).json()["items"]) == 1


async def test_a_second_rejection_of_the_same_comments_redoes_nothing(tmp_path: Path) -> None:
    async with _mapped(tmp_path, planted()) as (client, _, root):
        files = await _files(client, root)
        answer = await client.put("/api/delphi/conversations/town", json=_sent(planted()))
        assert answer.status_code == 200
        assert list(await _files(client, root)) == list(files)
        assert (await client.get("/api/jobs?job_type=REDACTION")).json()["items"] == []


@asynccontextmanager
async def _mapped(folder: Path, conversation: Conversation) -> AsyncIterator[tuple[httpx.AsyncClient, AsyncQueue, str]]:
    """A host that has run a pipeline on a conversation, called by an admin."""
    settings = Settings(store="embedded::memory:", objects=f"dir:{folder}/objects", data=folder)
    async with Host.open(settings, [application]) as host:
        await upload_conversation(host.store, conversation)
        queue = host.queue
        job = await worked(queue, Submission("FULL_PIPELINE", {}, subject="town"))
        assert job.status is JobStatus.COMPLETED
        token = (await host.keys.create("admin", Role.ADMIN, groups=[])).token
        transport = httpx.ASGITransport(create_app(host, console=False), client=("127.0.0.1", 50_000))
        async with httpx.AsyncClient(
            transport=transport, base_url="http://127.0.0.1:8000", headers={"authorization": f"Bearer {token}"}
        ) as client:
            yield client, queue, str(job.job_id)


async def _reject(client: httpx.AsyncClient) -> Job:
    """Upload the conversation with its comments rejected; the job that this brings about."""
    answer = await client.put("/api/delphi/conversations/town", json=_sent(planted()))
    assert answer.status_code == 200, answer.text
    [item] = (await client.get("/api/jobs?job_type=REDACTION")).json()["items"]
    return Job.model_construct(job_id=UUID(item["job_id"]), queue=item["queue"])


def _sent(conversation: Conversation) -> dict[str, str]:
    votes, comments = io.StringIO(), io.StringIO()
    rows = csv.writer(votes)
    rows.writerow(["timestamp", "comment-id", "voter-id", "vote"])
    columns = (conversation.votes.times, conversation.votes.comments, conversation.votes.participants, conversation.votes.choices)
    rows.writerows(zip(*(column.tolist() for column in columns), strict=True))
    rows = csv.writer(comments)
    rows.writerow(["comment-id", "moderated", "comment-body"])
    rows.writerows([one.comment_id, one.moderated, one.body] for one in conversation.comments)
    return {"votes": votes.getvalue(), "comments": comments.getvalue()}


async def _files(client: httpx.AsyncClient, root: str) -> dict[str, str]:
    return {one["name"]: one["url"] for one in (await client.get(f"/api/delphi/runs/{root}/artifacts")).json()}


def _leaking_files(folder: Path) -> list[str]:
    files = [path for path in (folder / "objects").rglob("*") if path.is_file()]
    return [path.name for path in files if any(SECRET.search(text) for text in texts_of(path.read_bytes()))]


async def _assert_silent(client: httpx.AsyncClient, root: str) -> None:
    home = "/api/delphi"
    stages = (await client.get(f"{home}/runs/{root}")).json()
    assert {one["stage"] for one in stages} == {"PCA", "UMAP", "REPORT"}
    jobs = [root, *(one["job_id"] for one in stages)]
    routes = [f"{home}/conversations", f"{home}/conversations/town", f"{home}/conversations/town/comments?limit=100"]
    routes += [f"{home}/conversations/town/runs", f"{home}/runs/{root}", f"{home}/runs/{root}/atlas", f"{home}/runs/{root}/timeline"]
    routes += [f"{home}/comparison?before={root}&after={root}", f"{home}/conversations/town/runs/latest?stage=UMAP"]
    routes += [f"{home}/conversations/town/results/{table}?limit=200" for table in RESULTS]
    routes += [f"{home}/runs/{job}/results/{table}?limit=200" for job in jobs for table in RESULTS]
    routes += [f"/api/search?q={word}" for word in WORDS] + [f"{home}/jobs?subject=town", f"{home}/jobs/{root}/tree"]
    [topics] = [one["job_id"] for one in stages if one["stage"] == "UMAP"]
    for table, key in (("Delphi_CommentClustersStructureKeywords", "cluster_key"), ("Delphi_CommentClustersLLMTopicNames", "topic_key")):
        rows = (await client.get(f"{home}/runs/{topics}/results/{table}?limit=200")).json()["items"]
        assert rows
        routes += [f"{home}/runs/{topics}/results/{table}/{row[key]}" for row in rows]
    routes += [f"{home}/jobs/{job}" for job in jobs] + [f"/api/jobs/{job}" for job in jobs] + [f"/api/jobs/{job}/logs" for job in jobs]
    for route in routes:
        answer = await client.get(route)
        assert answer.status_code in {200, 404}, (route, answer.text)
        assert not SECRET.search(answer.text), route
    comments = (await client.get(f"{home}/conversations/town/comments?limit=100")).json()["items"]
    assert [one["comment_id"] for one in comments if one["body"] is None] == list(range(28, 40))
    for name, url in (await _files(client, root)).items():
        content = (await client.get(url)).content
        assert content
        assert not any(SECRET.search(text) for text in texts_of(content)), name
