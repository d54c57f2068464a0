"""Agents at document collections: their tools find for somebody what that person may read, and nothing else."""

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from gateleg.apps.agents.application import application as agents
from gateleg.apps.agents.thread_tables import ToolCall, ToolCallStatus
from tests.apps.agents.running.hosted import SCRIPTS, Desk, Hosted, calling, register_scripts
from tests.apps.rag.people import PEOPLE
from tests.apps.rag.served import ROOT, Served, serving
from tests.apps.rag.test_matrix import HOST, LAWYERS, SECRET, SHARED

TEXT = f"The key of the {SECRET} archive lies under the third stone"
QUESTION = f"Where is the key of the {SECRET} archive?"


@pytest.fixture(autouse=True)
def scripts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    register_scripts(monkeypatch.setattr)
    yield
    SCRIPTS.clear()


@pytest.fixture
async def both(tmp_path: Path) -> AsyncIterator[tuple[Served, Hosted]]:
    """A host with document collections and agents, and a worker."""
    async with serving(tmp_path, others=(agents,)) as served:
        await served.repository("legal", allowedGroups=["lawyers", "partners"])
        await served.repository("commons")
        hosted = Hosted(served.host, Desk())
        async with hosted.working():
            yield served, hosted


async def told(hosted: Hosted, who: str, *calls: tuple[str, dict[str, Any]]) -> list[ToolCall]:
    """What the tools tell an agent that somebody asks: a model calls them as it likes."""
    person = PEOPLE[who]
    wishes = calling(*((name, json.dumps(arguments)) for name, arguments in calls))
    agent = await hosted.agent(wishes, "Done.", principal=person, configuration={"tools": ["rag.*"]})
    asked = await hosted.ask(agent, principal=person)
    await hosted.ended(asked, principal=person)
    found = (await hosted.transcript(asked, principal=person)).calls
    assert len(found) == len(calls)
    return list(found)


def tells(call: ToolCall) -> bool:
    """Whether a tool has told the secret; what it was asked does not count."""
    return "third stone" in (call.content or "")


@pytest.mark.parametrize("how", SHARED)
async def test_agents_find_what_the_person_who_asks_may_read(both: tuple[Served, Hosted], how: str) -> None:
    served, hosted = both
    shared, readers = SHARED[how]
    collection = await served.collection("creator", "legal", SECRET, **shared)
    await served.document("legal", collection, f"{SECRET}.txt", text=TEXT)
    place = {"repository": "legal", "collection": collection}
    calls: list[tuple[str, dict[str, Any]]] = [
        ("rag_search", {**place, "query": f"key of the {SECRET} archive"}),
        ("rag_ask", {**place, "question": QUESTION}),
        ("rag_search", {"repository": "legal", "query": f"key of the {SECRET} archive"}),
        ("rag_ask", {"repository": "legal", "question": QUESTION}),
        # Through a repository that everybody reads.
        ("rag_search", {**place, "repository": "commons", "query": f"key of the {SECRET} archive"}),
        ("rag_ask", {**place, "repository": "commons", "question": QUESTION}),
    ]
    wrong = []
    for who in PEOPLE:
        of_collection, of_repository, elsewhere = (pair := await told(hosted, who, *calls))[:2], pair[2:4], pair[4:]
        for call in of_collection:
            status = ToolCallStatus.COMPLETED if who in readers else ToolCallStatus.FAILED
            if tells(call) is not (who in readers) or call.status is not status:
                wrong.append(f"{who}: {call.name} of the collection: {call.status}: {call.content}")
        for call in of_repository:
            status = ToolCallStatus.COMPLETED if who in HOST | LAWYERS else ToolCallStatus.FAILED
            if tells(call) is not (who in readers) or call.status is not status:
                wrong.append(f"{who}: {call.name} of the repository: {call.status}: {call.content}")
        wrong += [
            f"{who}: {call.name} through another repository: {call.status}: {call.content}"
            for call in elsewhere
            if tells(call) or call.status is not ToolCallStatus.FAILED
        ]
    assert wrong == []


async def test_an_agent_of_one_person_finds_for_another_what_that_one_may_read(both: tuple[Served, Hosted]) -> None:
    """Agents are shared: the rights are those of whoever asks, not of whoever made the agent."""
    served, hosted = both
    collection = await served.collection("creator", "legal", SECRET, private=True)
    await served.document("legal", collection, f"{SECRET}.txt", text=TEXT)
    arguments = json.dumps({"repository": "legal", "collection": collection, "question": QUESTION})
    wish = calling(("rag_ask", arguments))
    agent = await hosted.agent(wish, "Done.", wish, "Done.", principal=PEOPLE["creator"], configuration={"tools": ["rag.ask"]})
    for who, may in (("creator", True), ("lawyer", False)):
        asked = await hosted.ask(agent, principal=PEOPLE[who])
        await hosted.ended(asked, principal=PEOPLE[who])
        (call,) = (await hosted.transcript(asked, principal=PEOPLE[who])).calls
        assert tells(call) is may, (who, call.content)
    changed = await served["creator"].put(f"{ROOT}/legal/collections/{collection}", json={"private": False})
    assert changed.status_code == 200
    (call,) = await told(hosted, "lawyer", ("rag_ask", json.loads(arguments)))
    assert tells(call)
