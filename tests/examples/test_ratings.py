"""The ratings example: the score follows its table, whoever writes it, and however often a change is delivered."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from gateleg.endpoint import EndpointOptions, serve_in_thread
from gateleg.engine import Engine, boto3_session
from gateleg.jobs.table_streams import StreamConsumer, stream_table
from gateleg.store import AsyncStore
from gateleg.store.transports.embedded import AsyncEmbeddedTransport

SCRIPT = Path(__file__).parents[2] / "examples" / "ratings.py"
ANSWER = "Metropolis: 4.5 stars of 2 viewers\n"


def run(*arguments: str) -> str:
    command = [sys.executable, "-W", "error", str(SCRIPT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


@pytest.fixture
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("ratings", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_runs_in_memory() -> None:
    assert run() == ANSWER


def test_it_may_run_twice_on_the_same_data(tmp_path: Path) -> None:
    address = f"embedded:{tmp_path / 'data'}"
    assert [run(address), run(address)] == [ANSWER, ANSWER]


def test_it_runs_unchanged_against_an_endpoint() -> None:
    with Engine(":memory:", durability="relaxed") as engine, serve_in_thread(engine, EndpointOptions()) as url:
        assert run(url) == ANSWER


async def score_of(store: AsyncStore, example: Any, consumer: str) -> tuple[int, int]:
    await StreamConsumer(store, example.make_streams(store), consumer).round()
    score = await store.get(example.Score, film="M")
    return score.ratings, score.stars


async def test_writes_of_other_programs_count_and_a_second_delivery_does_not(example: Any) -> None:
    with Engine(":memory:", background=False) as engine:
        async with AsyncStore(AsyncEmbeddedTransport(engine)) as store:
            await store.ensure_tables(example.ratings, example.films, stream_table)
            table = boto3_session(engine).resource("dynamodb").Table("Ratings")
            table.put_item(Item={"film": "M", "viewer": "ann", "stars": 3})
            table.update_item(Key={"film": "M", "viewer": "ann"}, UpdateExpression="SET stars = :s", ExpressionAttributeValues={":s": 5})
            table.put_item(Item={"film": "M", "viewer": "bob", "stars": 1})
            assert await score_of(store, example, "first") == (2, 6)
            # A consumer with another name is given all changes once more.
            table.delete_item(Key={"film": "M", "viewer": "bob"})
            assert await score_of(store, example, "second") == (1, 5)
            assert await score_of(store, example, "first") == (1, 5)
            assert not [failed async for failed in StreamConsumer(store, example.make_streams(store), "second").failed()]
