"""What each fast path gains: verbs, engine calls, requests to the endpoint, claims and completions with one fast path off after another.

    python bench/ablation.py [--only request_plans,gets] [--processes 2] [--markdown]

Needs valgrind. Thousands of machine instructions of one call, which do not depend on what else the machine does, counted with callgrind as
in `bench/instructions.py`, of the rich entity of `bench/verbs.py`. Claims and completions are those of a worker (`bench/queues/claims.py`),
whose writes share commits: for one job of turns with ten. The endpoint is measured from the parsed request to the response, without a
socket. Each fast path is turned off by `GATELEG_PLAIN`, in a process of its own. Its row shows how much more each call takes than with
nothing turned off; less than 3 % can be chance.
"""

import argparse
import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table as Figures

from before import HERE
from gateleg.endpoint.dispatcher import Dispatcher, execute
from gateleg.endpoint.http import IncomingRequest
from gateleg.engine import Engine
from gateleg.jobs import AsyncQueue, Submission
from gateleg.jobs.worker.polling import with_group_commit
from gateleg.plain import FAST_PATHS, VARIABLE
from gateleg.store import AsyncStore
from gateleg.store.transports.embedded import AsyncEmbeddedTransport
from instructions import Row, all_rows, count, counted
from queues.claims import DONE, TURN, Bench
from queues.table import jobs
from verbs import OWNER, World, put_request, scene

#: The name of each row, and its column.
COLUMNS = {
    "get, rich": "get",
    "create, rich": "create",
    "put, rich": "put",
    "patch, rich": "patch",
    "query of 100, rich": "query",
    "engine: get, rich": "engine get",
    "engine: put, rich": "engine put",
    "engine: patch, rich": "engine update",
    "engine: query of 100, rich": "engine query",
    "endpoint: put, rich": "endpoint put",
    "endpoint: query of 100, rich": "endpoint query",
    "claim": "claim",
    "complete": "complete",
}
#: Queries that are counted, and turns of a worker; and the columns whose calls are turns of several jobs.
FEW = 10
SHARED = {"claim": TURN, "complete": TURN}
#: From this on, a difference is shown.
_SHOWN = 0.03
_HEADERS = {
    b"host": b"localhost",
    b"content-type": b"application/x-amz-json-1.0",
    b"x-amz-date": b"20260101T000000Z",
    b"authorization": b"AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=abc",
}
_QUERY = {
    "TableName": "Scenes",
    "KeyConditionExpression": "pk = :pk",
    "ExpressionAttributeValues": {":pk": {"S": f"FILM#{OWNER}"}},
    "Limit": 100,
}


def request_rows() -> list[Row]:
    """Queries as the engine gets them, and requests as the endpoint does."""
    world = World()
    dispatcher = Dispatcher(world.engine.is_write, region="us-east-1", verifier=None, separate=False, max_body=2**20)

    def incoming(operation: str, request: dict[str, Any]) -> IncomingRequest:
        headers = _HEADERS | {b"x-amz-target": f"DynamoDB_20120810.{operation}".encode()}
        return IncomingRequest(b"POST", b"/", headers, orjson.dumps(request))

    def serve(request: IncomingRequest) -> None:
        call = dispatcher.decide(request)
        assert execute(world.engine, call).status == 200

    def queries(request: Callable[[], Any]) -> list[Any]:
        world.filled(scene)
        return [request() for _ in range(2 * FEW)]

    return [
        ("engine: query of 100, rich", lambda one: world.engine.call("Query", one), lambda: queries(_QUERY.copy), False),
        ("endpoint: put, rich", serve, lambda: [incoming("PutItem", put_request(one)) for one in world.filled(scene)], False),
        ("endpoint: query of 100, rich", serve, lambda: queries(lambda: incoming("Query", _QUERY)), False),
    ]


def job_rows(loop: asyncio.AbstractEventLoop) -> list[Row]:
    """Claims and completions of a worker, in turns."""
    store = AsyncStore(AsyncEmbeddedTransport(Engine(":memory:"), owned=True))
    bench = Bench(with_group_commit(AsyncQueue(store, jobs)))
    loop.run_until_complete(bench.queue.ensure_tables())

    async def claim(_: object) -> list[Any]:
        return await bench.queue.claim_several(bench.selector, "default", "bench", TURN)

    async def complete(turn: list[Any]) -> None:
        await asyncio.gather(*(bench.queue.finish(job, DONE, unchanged=True) for job in turn))

    async def submitted() -> list[None]:
        await bench.queue.submit_many([Submission("noop") for _ in range(2 * FEW * TURN)])
        return [None] * (2 * FEW)

    async def claimed() -> list[Any]:
        return [await claim(one) for one in await submitted()]

    return [
        ("claim", claim, lambda: loop.run_until_complete(submitted()), True),
        ("complete", complete, lambda: loop.run_until_complete(claimed()), True),
    ]


def rows(loop: asyncio.AbstractEventLoop) -> list[Row]:
    """Every row that has a column."""
    return [row for row in (*all_rows(), *request_rows(), *job_rows(loop)) if row[0] in COLUMNS]


def measured(value: str) -> dict[str, float]:
    """The figure of each column with some fast paths off."""
    figures = counted(HERE.parent / "src", [__file__, "--count"], {VARIABLE: value})
    return {column: figures[row] / SHARED.get(column, 1) for row, column in COLUMNS.items()}


def shown(figure: float, whole: float) -> str:
    """How much more a figure is, if it is more."""
    gain = figure / whole - 1
    return f"{gain:+.0%}".replace("%", " %") if abs(gain) >= _SHOWN else ""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(FAST_PATHS), help="only these fast paths, separated by commas")
    parser.add_argument("--processes", type=int, default=1, help="how many to measure at the same time")
    parser.add_argument("--markdown", action="store_true", help="print the table for docs/why/fast-paths.md")
    parser.add_argument("--count", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.count:
        loop = asyncio.new_event_loop()
        count(rows(loop), loop)
        return
    values = {"nothing": "0", **{name: name for name in arguments.only.split(",") if name}, "everything": "1"}
    with ThreadPoolExecutor(arguments.processes) as pool:
        whole, *rest = pool.map(measured, values.values())
    lines = [["nothing", *(f"{figure:,.1f}" for figure in whole.values())]]
    for name, figures in zip(list(values)[1:], rest, strict=True):
        lines.append([name, *(shown(figures[column], whole[column]) for column in whole)])
    heads = ["turned off", *whole]
    if arguments.markdown:
        for line in (heads, ["---"] * len(heads), *lines):
            print(f"| {' | '.join(line)} |".replace("|  |", "| |"))
        return
    table = Figures(*heads)
    for line in lines:
        table.add_row(*line)
    Console(width=180).print(table)


if __name__ == "__main__":
    main()
