"""What each fast path gains: verbs, engine calls, requests to the endpoint, claims and completions with one fast path off after another.

    python bench/ablation.py [--only request_plans,gets] [--processes 2] [--markdown]
    python bench/ablation.py --caches

Needs valgrind. Thousands of machine instructions of one call, which do not depend on what else the machine does, counted with callgrind as
in `bench/instructions.py`, of the rich entity of `bench/verbs.py`. Claims and completions are those of a worker (`bench/queues/claims.py`),
whose writes share commits: for one job of turns with ten. The endpoint is measured from the parsed request to the response, without a
socket. Each fast path is turned off by `GATELEG_PLAIN`, in a process of its own. Its row shows how much more each call takes than with
nothing turned off; less than 10 % can be chance on a busy machine.

With `--caches`, the functions that an update of the rich entity enters, with each of its caches and without what it holds.
"""

import argparse
import asyncio
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table as Figures

from before import HERE
from gateleg.endpoint.dispatcher import Dispatcher, EngineCall, execute
from gateleg.endpoint.http import IncomingRequest
from gateleg.engine import Engine, values
from gateleg.jobs import AsyncQueue, Submission
from gateleg.jobs.worker.polling import with_group_commit
from gateleg.model import spec_of
from gateleg.plain import FAST_PATHS, VARIABLE
from gateleg.store import AsyncStore, patch
from gateleg.store.transports.embedded import AsyncEmbeddedTransport
from instructions import Row, all_rows, count, counted
from queues.claims import DONE, TURN, Bench
from queues.table import jobs
from verbs import OWNER, Scene, World, put_request, scene

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
_SHOWN = 0.05
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
        call = dispatcher.route(request)
        assert isinstance(call, EngineCall)
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


def entered(call: Callable[[], Any]) -> int:
    """The functions that a call enters, those of C too."""
    number = 0

    def note_call(frame: Any, event: str, argument: Any) -> None:
        nonlocal number
        number += event in ("call", "c_call")

    sys.setprofile(note_call)
    try:
        call()
    finally:
        sys.setprofile(None)
    return number


def caches() -> dict[str, tuple[int, int]]:
    """For each cache of one update, the functions that `store.patch` enters with it, and with it emptied before."""
    world, spec = World(), spec_of(Scene)
    expressions = import_module("gateleg.engine.expressions.prepare")
    expressions_read: list[Any] = []

    def of_request() -> None:
        expressions._request_plans.clear()

    def of_names() -> None:
        of_request()
        for plan in expressions_read:
            plan.bound.clear()

    def of_texts() -> None:
        of_request()
        expressions.read.cache_clear()

    def of_numbers() -> None:
        for cached in (values.measured_number, values.canonical_number, values.number_size):
            cached.cache_clear()

    def patched(empty: Callable[[], object]) -> int:
        first, second = world.filled(scene)[:2]
        world.store.patch(first, Scene.text.set("Buy bread"))
        known = patch(second, Scene.text.set("Buy bread")).params()
        expressions_read[:] = [expressions.read(name, known[name]) for name in ("UpdateExpression", "ConditionExpression") if name in known]
        empty()
        return entered(lambda: world.store.patch(second, Scene.text.set("Buy bread")))

    whole = patched(lambda: None)
    empties: dict[str, Callable[[], object]] = {
        "Spec.plans": spec.plans.clear,
        "_request_plans": of_request,
        "Expression.bound": of_names,
        "read": of_texts,
        "Layout._affected_indexes": lambda: world.engine.catalog.layout(world.engine.namespace, "Scenes")._affected_indexes.clear(),
        "measured_number and its like": of_numbers,
    }
    return {name: (whole, patched(empty)) for name, empty in empties.items()}


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
    parser.add_argument("--caches", action="store_true", help="count what each cache of one update gains instead")
    parser.add_argument("--markdown", action="store_true", help="print the table for docs/why/fast-paths.md")
    parser.add_argument("--count", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.caches:
        for name, (kept, emptied) in caches().items():
            print(f"{name}: {kept} -> {emptied}")
        return
    if arguments.count:
        loop = asyncio.new_event_loop()
        count(rows(loop), loop)
        return
    switches = {"nothing": "0", **{name: name for name in arguments.only.split(",") if name}, "everything": "1"}
    with ThreadPoolExecutor(arguments.processes) as pool:
        whole, *rest = pool.map(measured, switches.values())
    lines = [["nothing", *(f"{figure:,.1f}" for figure in whole.values())]]
    for name, figures in zip(list(switches)[1:], rest, strict=True):
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
