"""The engine beside the other emulators, in one run on one machine.

    python bench/engine.py [--quick] [in-process | endpoint | processes | million | start]

In process: `Engine.call` beside boto3 on each peer, which is how Python reaches them, and beside plain HTTP without an SDK.
Endpoint: answers per second of a fast raw client on 1, 8 and 32 connections. Every figure is the best of several rounds.
Processes: the same of `serve --processes`, with as many clients as processes; both share the machine's cores.
"""

import argparse
import http.client
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
from rich.console import Console
from rich.table import Table

from gateleg.engine import Engine
from http_load import request as raw_request
from peers import PYTHON, Peer, install, ours, running

NAME = "Bench"
CONSOLE = Console(width=150)
TABLE: dict[str, Any] = {
    "TableName": NAME,
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
}


def item(pk: str, sk: str, count: int = 1) -> dict[str, Any]:
    """An item of ten attributes."""
    texts = {f"text{i}": {"S": "a modest amount of text"} for i in range(6)}
    return {"pk": {"S": pk}, "sk": {"S": sk}, "count": {"N": str(count)}, "done": {"BOOL": False}, **texts}


KEY = {"pk": {"S": "one"}, "sk": {"S": "0"}}
#: Writes take turns with so many values: an item that is put again unchanged costs next to nothing, here and on some peers.
VALUES = range(100, 132)
#: For each row of the report its operation, and the requests that take turns.
REQUESTS: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "get": ("GetItem", [{"TableName": NAME, "Key": KEY}]),
    "put": ("PutItem", [{"TableName": NAME, "Item": item("one", "0", value)} for value in VALUES]),
    "conditional update": (
        "UpdateItem",
        [
            {
                "TableName": NAME,
                "Key": KEY,
                "UpdateExpression": "SET #c = #c + :one, text0 = :text",
                "ConditionExpression": "attribute_exists(pk) AND done = :no",
                "ExpressionAttributeNames": {"#c": "count"},
                "ExpressionAttributeValues": {":one": {"N": "1"}, ":no": {"BOOL": False}, ":text": {"S": "changed"}},
            }
        ],
    ),
    "query of 100": (
        "Query",
        [{"TableName": NAME, "KeyConditionExpression": "pk = :pk", "ExpressionAttributeValues": {":pk": {"S": "many"}}}],
    ),
    "transact of 10": (
        "TransactWriteItems",
        [
            {"TransactItems": [{"Put": {"TableName": NAME, "Item": item("transacted", str(i), value)}} for i in range(10)]}
            for value in VALUES
        ],
    ),
}
#: How many times faster than the best peer the goals of the project are.
GOALS = {"get": 50, "put": 20, "conditional update": 20, "query of 100": 5}

Call = Callable[[str, dict[str, Any]], object]


def fill(call: Call) -> None:
    """The table and the items that the requests are about."""
    call("CreateTable", TABLE)
    call("PutItem", {"TableName": NAME, "Item": item("one", "0")})
    for start in range(0, 100, 25):
        batch = [{"PutRequest": {"Item": item("many", f"{i:03}")}} for i in range(start, start + 25)]
        call("BatchWriteItem", {"RequestItems": {NAME: batch}})


def best(run: Callable[[], object], seconds: float) -> float:
    """Microseconds of one call: the best of ten rounds that take `seconds` in all."""
    began = time.perf_counter()
    run()
    count = max(1, int(seconds / 10 / max(time.perf_counter() - began, 1e-6)))
    rounds = []
    for _ in range(10):
        began = time.perf_counter()
        for _ in range(count):
            run()
        rounds.append((time.perf_counter() - began) / count)
    return min(rounds) * 1e6


def measure(call: Call, seconds: float) -> dict[str, float]:
    """Microseconds of each request; infinite where the server does not know the operation."""
    fill(call)
    return {name: attempt(taking_turns(call, operation, requests), seconds) for name, (operation, requests) in REQUESTS.items()}


def taking_turns(call: Call, operation: str, requests: list[dict[str, Any]]) -> Callable[[], object]:
    """A call that sends the next of the requests each time."""
    following = cycle(requests).__next__
    return lambda: call(operation, following())


def attempt(run: Callable[[], object], seconds: float) -> float:
    """`best`, or infinity for what is refused."""
    try:
        return best(run, seconds)
    except Exception as error:
        print(f"left out: {error}", file=sys.stderr)
        return math.inf


def over_http(url: str) -> Call:
    """Plain HTTP on one kept connection: no SDK, no signature."""
    where = urlsplit(url)
    connection = http.client.HTTPConnection(where.hostname or "", where.port)

    def call(operation: str, request: dict[str, Any]) -> object:
        head, _, body = raw_request(where.netloc, operation, orjson.dumps(request)).partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
        connection.request("POST", "/", body, headers)
        answer = connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise RuntimeError(content)
        return orjson.loads(content or b"{}")

    return call


def boto3_client(url: str) -> Call:
    """boto3, which is how Python programs reach a server."""
    import boto3

    client = boto3.client("dynamodb", endpoint_url=url, region_name="us-east-1", aws_access_key_id="bench", aws_secret_access_key="bench")
    return boto3_call(client)


def boto3_call(client: Any) -> Call:
    """The call of a boto3 client by the operation's name."""
    from botocore import xform_name

    return lambda operation, request: getattr(client, xform_name(operation))(**request)


MOTO = """
import sys, json
sys.path.insert(0, {here!r})
import boto3, moto
from engine import measure, boto3_call
with moto.mock_aws():
    client = boto3.client("dynamodb", region_name="us-east-1", aws_access_key_id="bench", aws_secret_access_key="bench")
    print(json.dumps(measure(boto3_call(client), {seconds})))
"""


def moto_in_process(seconds: float) -> dict[str, float] | None:
    """boto3 with moto's mock, in a process of its own."""
    code = MOTO.format(here=str(Path(__file__).parent), seconds=seconds)
    command = [str(PYTHON), "-m", "pip", "install", "--quiet", "-e", f"{Path(__file__).parents[1]}[endpoint,cli,aws]"]
    subprocess.run(command, check=False, capture_output=True)
    done = subprocess.run([str(PYTHON), "-c", code], capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        return None
    figures: dict[str, float] = orjson.loads(done.stdout.strip().splitlines()[-1])
    return figures


@contextmanager
def leaving_out(peer: Peer) -> Iterator[None]:
    """Go on with the other peers when one fails, and say which and why."""
    try:
        yield
    except Exception as error:
        print(f"{peer.name} is left out: {error}", file=sys.stderr)


@contextmanager
def folder() -> Iterator[str]:
    """A database file that is gone afterwards."""
    with tempfile.TemporaryDirectory() as place:
        yield f"{place}/bench.db"


def in_process(seconds: float) -> None:
    """Latencies of single calls."""
    columns: dict[str, dict[str, float]] = {}
    for durability in ("relaxed", "full"):
        with folder() as path, Engine(path, durability=durability) as engine:
            columns[f"gateleg {durability}"] = measure(engine.call, seconds)
            if durability == "relaxed":
                raw = sqlite_get(engine, seconds)
    with Engine(":memory:") as engine:
        from gateleg.engine import boto3_session

        columns["boto3 in gateleg"] = measure(boto3_call(boto3_session(engine).client("dynamodb")), seconds)
    peers = install()
    moto = moto_in_process(seconds)
    if moto:
        columns["boto3 in moto"] = moto
    bare: dict[str, dict[str, float]] = {}
    for peer in peers:
        with leaving_out(peer), running(peer) as url:
            columns[f"boto3 to {peer.name}"] = measure(boto3_client(url), seconds)
        with leaving_out(peer), running(peer) as url:
            bare[f"HTTP to {peer.name}"] = measure(over_http(url), seconds)
    show_latencies("One call, in microseconds, and how many times gateleg's (relaxed)", columns, GOALS)
    show_latencies(
        "The same peers without an SDK: plain HTTP on one connection", {"gateleg relaxed": columns["gateleg relaxed"], **bare}, {}
    )
    get = columns["gateleg relaxed"]["get"]
    CONSOLE.print(f"A bare SQLite statement for the same row: {raw:.1f} µs; get costs {get / raw:.1f} times that (goal: at most 4)\n")


def sqlite_get(engine: Engine, seconds: float) -> float:
    """Microseconds of the bare SQLite statement under a get."""
    layout = engine.catalog.layout(engine.namespace, NAME)
    connection, key = engine.database.connection, layout.request_key(KEY)
    return best(lambda: connection.execute(layout.get, (key,)).fetchone(), seconds)


def show_latencies(title: str, columns: dict[str, dict[str, float]], goals: dict[str, int]) -> None:
    """A row per way to call, with ratios to ours."""
    base = columns["gateleg relaxed"]
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for name in REQUESTS:
        table.add_column(name, justify="right")
    for who, figures in columns.items():
        table.add_row(who, *(shown(figures[name], base[name]) for name in REQUESTS))
    others = [figures for who, figures in columns.items() if "gateleg" not in who]
    if others:
        ratios = {name: min(figures[name] for figures in others) / base[name] for name in REQUESTS}
        table.add_row("best peer / gateleg", *(f"{ratios[name]:.1f}x" for name in REQUESTS), style="bold")
    if goals:
        table.add_row("goal", *(f"{goals[name]}x" if name in goals else "" for name in REQUESTS))
    CONSOLE.print(table)


def shown(figure: float, base: float) -> str:
    """A figure and its ratio to ours."""
    return "-" if math.isinf(figure) else f"{figure:,.1f}  {figure / base:6.1f}x"


def endpoint(seconds: float) -> None:
    """Throughput of the servers."""
    table = Table(title="Endpoints, answers per second with a fast raw client", title_justify="left")
    table.add_column("")
    loads = [(name, connections) for name in ("get", "put", "query of 100") for connections in (1, 8, 32)]
    for name, connections in loads:
        table.add_column(f"{name}\n{connections} conn.", justify="right")
    with folder() as relaxed, folder() as full:
        for peer in [ours("relaxed", relaxed), ours("full", full), *install()]:
            with leaving_out(peer), running(peer) as url:
                fill(over_http(url))
                table.add_row(peer.name, *(throughput(url, name, connections, seconds) for name, connections in loads))
    CONSOLE.print(table)


def throughput(url: str, name: str, connections: int, seconds: float) -> str:
    """Answers per second, measured from a process of its own; the best of three."""
    operation, requests = REQUESTS[name]
    command = [sys.executable, str(Path(__file__).with_name("http_load.py")), url, str(connections), str(seconds), operation]
    rates = []
    for _ in range(3):
        done = subprocess.run(command, input=b"\n".join(map(orjson.dumps, requests)), capture_output=True, check=False)
        if done.returncode:
            print(f"left out: {done.stderr.decode().strip().splitlines()[-1:]}", file=sys.stderr)
            return "-"
        rates.append(float(done.stdout))
    return f"{max(rates):,.0f}"


def processes(seconds: float) -> None:
    """Throughput of one port that several processes serve."""
    table = Table(title=f"Processes on one port, answers per second (full durability, {os.cpu_count()} cores)", title_justify="left")
    for name in ("processes and clients", "get, 16 conn. each", "times one", "put, 16 conn. each", "times one"):
        table.add_column(name, justify="right")
    first: list[float] = []
    for number in (1, 2, 4):
        with folder() as path, running(ours("full", path, ["--processes", str(number)])) as url:
            fill(over_http(url))
            rates = [max(summed(url, name, number, seconds) for _ in range(3)) for name in ("get", "put")]
        first = first or rates
        shown_rates = [text for rate, base in zip(rates, first, strict=True) for text in (f"{rate:,.0f}", f"{rate / base:.2f}")]
        table.add_row(str(number), *shown_rates)
    CONSOLE.print(table)


def summed(url: str, name: str, clients: int, seconds: float) -> float:
    """Answers per second of several clients at once, each a process."""
    operation, requests = REQUESTS[name]
    command = [sys.executable, str(Path(__file__).with_name("http_load.py")), url, "16", str(seconds), operation]
    started = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(clients)]
    for client in started:
        assert client.stdin is not None
        client.stdin.write(b"\n".join(map(orjson.dumps, requests)))
        client.stdin.close()
        client.stdin = None
    return sum(float(client.communicate()[0]) for client in started)


def million(count: int) -> None:
    """A large table: the rate of loading, the cost of a get beside that on a small table, memory."""
    rows = Table(title=f"{count:,} items (relaxed durability, batches of 25)", title_justify="left")
    for name in ("items", "loaded per second", "get, µs", "get on 1,000 items, µs", "ratio", "memory, MB"):
        rows.add_column(name, justify="right")
    with folder() as path, folder() as other, Engine(path, durability="relaxed") as large, Engine(other, durability="relaxed") as small:
        for engine in (large, small):
            engine.call("CreateTable", TABLE)
        load(small, 0, 1000)
        loaded = 0
        for goal in range(count // 10, count + 1, count // 10):
            began = time.perf_counter()
            load(large, loaded, goal)
            rate = (goal - loaded) / (time.perf_counter() - began)
            loaded = goal
            cost, base = spread_gets(large, loaded), spread_gets(small, 1000)
            figures = [(cost(), base()) for _ in range(20)]
            gets = [min(column) for column in zip(*figures, strict=True)]
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            rows.add_row(f"{goal:,}", f"{rate:,.0f}", f"{gets[0]:.1f}", f"{gets[1]:.1f}", f"{gets[0] / gets[1]:.2f}", f"{memory:,.0f}")
    CONSOLE.print(rows)
    CONSOLE.print("Goals: a steady rate, a ratio of at most 1.3, flat memory\n")


def load(engine: Engine, start: int, end: int) -> None:
    """Put items in batches of 25."""
    for first in range(start, end, 25):
        batch = [{"PutRequest": {"Item": item(f"key-{i:07}", "0")}} for i in range(first, min(first + 25, end))]
        engine.call("BatchWriteItem", {"RequestItems": {NAME: batch}})


def spread_gets(engine: Engine, loaded: int) -> Callable[[], float]:
    """A function that gets 1,000 items spread through the table; microseconds of one get."""
    requests = [{"TableName": NAME, "Key": {"pk": {"S": f"key-{i * loaded // 1000:07}"}, "sk": {"S": "0"}}} for i in range(1000)]

    def run() -> float:
        began = time.perf_counter()
        for request in requests:
            engine.call("GetItem", request)
        return (time.perf_counter() - began) / len(requests) * 1e6

    run()
    return run


def start() -> None:
    """Time to open an engine, and until the endpoint listens."""
    with folder() as path:
        Engine(path).close()
        opened = best(lambda: Engine(path).close(), 0.5) / 1000
        waits = sorted(_wait_until_listening(path) for _ in range(9))
    CONSOLE.print(
        f"Opening an engine: {opened:.1f} ms (goal: under 10). "
        f"Endpoint listening after {waits[len(waits) // 2]:.0f} ms, the median of {len(waits)} starts; "
        f"{waits[0]:.0f} at best (goal: under 500)\n"
    )


def _wait_until_listening(path: str) -> float:
    """Milliseconds from the command to the first connection."""
    began = time.perf_counter()
    with running(ours("full", path)):
        return (time.perf_counter() - began) * 1000


def main() -> None:
    """Run what was asked for, or everything."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", nargs="*", choices=["in-process", "endpoint", "processes", "million", "start", []])
    parser.add_argument("--quick", action="store_true", help="a tenth of the time and of the items")
    given = parser.parse_args()
    what, scale = given.what or ["start", "in-process", "endpoint", "processes", "million"], 0.1 if given.quick else 1.0
    if "start" in what:
        start()
    if "in-process" in what:
        in_process(2.0 * scale)
    if "endpoint" in what:
        endpoint(3.0 * scale)
    if "processes" in what:
        processes(3.0 * scale)
    if "million" in what:
        million(int(1_000_000 * scale))


if __name__ == "__main__":
    main()
