from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest

from gateleg.apps.delphi.runs.run_tables import Run
from gateleg.apps.delphi.runs.topic_names import rename_topic
from gateleg.apps.delphi.web.comment import meanings
from gateleg.apps.delphi.web.loaded_runs import load_run
from gateleg.apps.delphi.web.run_cache import LoadedRun
from gateleg.apps.delphi.web.topics import agreement_of
from tests.apps.delphi.served import Served, conversation, serving


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with serving(tmp_path) as served:
        yield served


async def loaded_run(served: Served) -> LoadedRun:
    store = served.host.store
    return await load_run(
        store, await store.get(Run, job_id=served.votes, stage="PCA"), await store.get(Run, job_id=served.topics, stage="UMAP")
    )


async def test_a_run_is_read_once_while_nothing_changes(served: Served) -> None:
    assert await loaded_run(served) is await loaded_run(served)


async def test_a_topic_that_was_renamed_has_its_new_name_at_once(served: Served) -> None:
    before = await loaded_run(served)
    key = before.findings.topics[0][0].key
    await rename_topic(served.host.store, served.topics, key, "Trees and parks", "ann")
    after = await loaded_run(served)
    topic = after.findings.topic(key)
    assert topic is not None
    assert topic.name == "Trees and parks"
    assert [one.topic_name for one in after.names[key].earlier] == [before.names[key].topic_name]


async def test_a_reading_has_the_votes_of_everybody_who_voted(served: Served) -> None:
    loaded = await loaded_run(served)
    told = orjson.loads(loaded.atlas)
    assert told["people"]["count"] == loaded.matrix.shape[0] == len(set(conversation().votes.participants.tolist()))
    assert [one["key"] for one in told["layers"][0]] == [topic.key for topic in loaded.findings.topics[0]]


async def test_the_votes_on_a_topic_are_those_on_its_comments(served: Served) -> None:
    findings = (await loaded_run(served)).findings
    topic = findings.topics[0][0]
    everybody, *groups = agreement_of(findings, topic)
    assert everybody[1].votes == sum(one.everybody.votes for one in findings.of_topic(topic))
    assert [group for group, _ in groups] == list(findings.groups)


async def test_what_a_comment_means_is_said_of_those_that_mean_something(served: Served) -> None:
    findings = (await loaded_run(served)).findings
    group = findings.groups[0]
    telling = next(one for one in group.representatives if one.comment_id in findings.statements)
    assert any(group.name in sentence for sentence in meanings(findings, findings.statements[telling.comment_id]))
    assert "A clear majority of every group agrees with it." in list(meanings(findings, findings.bridging()[0]))
    assert any(sentence.startswith("It divides the groups") for sentence in meanings(findings, findings.divisive()[0]))
