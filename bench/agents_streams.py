"""Streams of agents: how much later than the model's own the first token comes, and many streams at once on one host.

    python bench/agents_streams.py [--streams 200] [--tokens 100] [--rounds 20] [--json]

The model is a server of ours in a process of its own, which speaks OpenAI's chat completions: it waits 50 ms, then writes a token every
40 ms (25 in a second, faster than people read), each with the time at which it was written. So every token tells how old it is when a
client has it.
"One process" is a host with its worker in this process, followed without HTTP; "over HTTP" is `gateleg up` with its worker, as it comes,
asked and followed (server-sent events) over sockets. "Before" is the time from the question until the model has it, "after" that from the
model's first token to the client: together they are what Gateleg adds to the model's own first token. With all streams at once each must
have every frame, numbered without a gap, and every token. Processor time and memory are those of the host and its worker.
"""

import argparse
import asyncio
import importlib.util
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from gateleg.ai import User
from gateleg.apps.agents.application import application
from gateleg.apps.agents.running.frame_stream import follow_run
from gateleg.apps.agents.running.questions import Question
from gateleg.apps.agents.running.submission import ask
from gateleg.apps.agents.tables import Agent, VersionPointer, new_id
from gateleg.apps.agents.tenancy import RequestedTenant, assemble
from gateleg.host import Principal, Role
from gateleg.host.host import Host
from gateleg.host.settings import load_settings
from gateleg.jobs.worker import WorkerPool

ANN = Principal("ann", Role.MEMBER, tenant="acme")
#: Seconds before the first token, and between two.
FIRST, PAUSE = 0.05, 0.04
#: Seconds within which all streams are asked for: shorter than an answer, so that they are there at once.
RAMP = 3.0
#: Agents whose model is our server, or the small one in this process.
HOUSE: dict[str, Any] = {"llm_provider": "openai-compatible", "llm_name": "m", "configuration": {"model": "house:m"}}
LOCAL: dict[str, Any] = {"llm_provider": "local", "llm_name": "smollm2", "configuration": {"max_tokens": 8}}
UP = [sys.executable, "-c", "from gateleg.cli import main; main()", "up", "--no-browser", "--port", "0", "--drain", "5"]


@dataclass
class Stream:
    """What a client saw of one answer."""

    #: when it asked, and when it had the first token
    asked: float = 0.0
    first: float = 0.0
    #: when the model had the question, and wrote its first token
    reached: float = 0.0
    written: float = 0.0
    #: how old each token was, in seconds
    ages: list[float] = field(default_factory=list)
    indexes: list[int] = field(default_factory=list)
    end: str = ""

    def take(self, kind: str, index: int, delta: str, status: str) -> None:
        """A frame has come."""
        now = time.time()
        self.indexes.append(index)
        if kind == "text":
            reached, _, written = delta.strip().partition("/")
            if not self.ages:
                self.first, self.reached, self.written = now, float(reached), float(written)
            self.ages.append(now - float(written))
        elif kind == "end":
            self.end = status

    def whole(self, tokens: int) -> bool:
        """Whether nothing was lost."""
        return self.end == "completed" and len(self.ages) == tokens and self.indexes == list(range(len(self.indexes)))


# The model: a server that speaks OpenAI's chat completions.


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, tokens: int) -> None:
    def chunk(body: dict[str, Any] | None) -> bytes:
        data = b"data: " + (b"[DONE]" if body is None else json.dumps(body).encode()) + b"\n\n"
        return b"%x\r\n%b\r\n" % (len(data), data)

    def said(finish: str | None = None, **delta: str) -> bytes:
        return chunk({"model": "m-1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = next(int(line.partition(b":")[2]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
            await reader.readexactly(length)
            reached = time.time()
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
            due = reached + FIRST
            for _ in range(tokens):
                await asyncio.sleep(max(0.0, due - time.time()))
                due += PAUSE
                writer.write(said(content=f"{reached:.6f}/{time.time():.6f} "))
            usage = {"prompt_tokens": 10, "completion_tokens": tokens, "total_tokens": 10 + tokens}
            writer.write(said("stop") + chunk({"model": "m-1", "choices": [], "usage": usage}) + chunk(None) + b"0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def serve_model(tokens: int) -> None:
    """Serve until it is ended; print the port."""
    server = await asyncio.start_server(lambda reader, writer: _answer(reader, writer, tokens), "127.0.0.1", 0, backlog=1000)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def model_server(tokens: int) -> Iterator[str]:
    """The model in a process of its own: its address."""
    process = subprocess.Popen([sys.executable, __file__, "--model", str(tokens)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    finally:
        process.kill()
        process.wait()


# Two hosts.

OneStream = Callable[[], Awaitable[Stream]]


def environment(url: str) -> dict[str, str]:
    """The settings of a host that knows the model."""
    return {"GATELEG_MODELS__PROVIDERS": json.dumps({"house": {"url": url, "speaks": "openai"}})}


@asynccontextmanager
async def opened(folder: str, url: str, model: dict[str, Any] | None = None) -> AsyncIterator[tuple[Host, Agent]]:
    """A host on a folder, with an agent."""
    flags = {"store": f"embedded:{folder}", "objects": f"dir:{folder}/objects", "data": Path(folder)}
    async with Host.open(load_settings(flags=flags, environ=environment(url)), [application]) as host:
        resources = host.resources["agents"]
        place = assemble(ANN, resources.settings, RequestedTenant()).partition
        made = Agent(partition=place, agent_uuid=f"agent-{new_id()}", agent_name="Bench", **(model or HOUSE))
        agent = await resources.store.create(made)
        await resources.store.create(
            VersionPointer(partition=place, kind="agent", logical_uuid=agent.agent_uuid, active_version_uuid=agent.agent_version_uuid)
        )
        yield host, agent


@asynccontextmanager
async def working(host: Host) -> AsyncIterator[None]:
    """The workers of a host in this process."""
    workers = WorkerPool(host.queue)
    running = asyncio.ensure_future(workers.run())
    try:
        yield
    finally:
        workers.stop()
        await running


@asynccontextmanager
async def in_one_process(url: str) -> AsyncIterator[tuple[OneStream, list[int]]]:
    """A host with its worker in this process."""
    with tempfile.TemporaryDirectory() as folder:
        async with opened(folder, url) as (host, agent), working(host):
            resources = host.resources["agents"]
            context = assemble(ANN, resources.settings, RequestedTenant())

            async def one() -> Stream:
                stream = Stream(asked=time.time())
                asked = await ask(resources, context, Question(agent_uuid=agent.agent_uuid, user_query="Hello?"))
                async for frame in await follow_run(resources, context, asked.thread_uuid, asked.run_uuid):
                    stream.take(frame.kind, frame.index, frame.delta, frame.status)
                return stream

            yield one, [os.getpid()]


@asynccontextmanager
async def over_http(url: str) -> AsyncIterator[tuple[OneStream, list[int]]]:
    """`gateleg up` with its worker."""
    with tempfile.TemporaryDirectory() as folder:
        async with opened(folder, url) as (host, agent):
            token = (await host.keys.create("ann", Role.MEMBER, tenant="acme")).token
        environ = {name: value for name, value in os.environ.items() if not name.startswith("GATELEG_")}
        with (Path(folder) / "log.txt").open("w") as log:
            process = subprocess.Popen(
                [*UP, "--data", folder],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=environ | environment(url) | {"PYTHONUNBUFFERED": "1", "GATELEG_KEY_RATE": "0"},
            )
        assert process.stdout is not None
        try:
            line = await asyncio.to_thread(process.stdout.readline)
            if " at http" not in line:
                raise SystemExit((Path(folder) / "log.txt").read_text())
            port = int(line.strip().rpartition(":")[2])
            yield lambda: _asked_over_http(port, token, agent.agent_uuid), [process.pid, *_children(process.pid)]
        finally:
            process.send_signal(signal.SIGINT)
            await asyncio.to_thread(process.wait)


async def _asked_over_http(port: int, token: str, agent_uuid: str) -> Stream:
    stream = Stream(asked=time.time())
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
    body = json.dumps({"agentUuid": agent_uuid, "userQuery": "Hello?"})
    kind = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    writer.write(f"POST /api/agents/ask HTTP/1.1\r\n{head}{kind}\r\n{body}".encode())
    answer = await reader.readuntil(b"\r\n\r\n")
    if b" 202 " not in answer[:20]:
        raise SystemExit((answer + await reader.read(1000)).decode())
    length = next(int(line.partition(b":")[2]) for line in answer.split(b"\r\n") if line.lower().startswith(b"content-length"))
    question = json.loads(await reader.readexactly(length))
    writer.write(f"GET {question['events']} HTTP/1.1\r\n{head}\r\n".encode())
    await reader.readuntil(b"\r\n\r\n")
    while not stream.end:
        line = await reader.readline()
        if line.startswith(b"data: "):
            frame = json.loads(line[6:])
            stream.take(frame["kind"], frame["index"], frame.get("delta", ""), frame.get("status", ""))
        elif not line:
            break
    writer.close()
    return stream


# The small model in this process: asked directly, and through an agent.


async def measure_local(rounds: int) -> dict[str, Any]:
    """Milliseconds to the first token of the local model, asked directly and through an agent in turn; medians."""
    direct, through = [], []
    with tempfile.TemporaryDirectory() as folder:
        async with opened(folder, "http://127.0.0.1:9/v1", LOCAL) as (host, agent), working(host):
            resources = host.resources["agents"]
            context = assemble(ANN, resources.settings, RequestedTenant())
            for number in range(rounds + 1):
                began = time.perf_counter()
                async for delta in resources.models.chat("local:smollm2").stream([User("Hello?")], max_tokens=8):
                    if delta.text:
                        direct.append(time.perf_counter() - began)
                        break
                began = time.perf_counter()
                asked = await ask(resources, context, Question(agent_uuid=agent.agent_uuid, user_query="Hello?"))
                came = 0.0
                async for frame in await follow_run(resources, context, asked.thread_uuid, asked.run_uuid):
                    came = came or (time.perf_counter() if frame.kind == "text" else 0.0)
                through.append(came - began)
                if number == 0:
                    # The model was loaded.
                    direct.clear()
                    through.clear()
    return {"direct": round(1000 * statistics.median(direct), 1), "through an agent": round(1000 * statistics.median(through), 1)}


# What processes have used.


def _children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def processor_seconds(pids: list[int]) -> float:
    """The processor time of some processes, in seconds."""
    ticks = 0
    for pid in pids:
        values = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(values[11]) + int(values[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def megabytes(pids: list[int], name: str) -> float:
    """The memory of some processes: `VmRSS` as it is, `VmHWM` at its most."""
    kilobytes = 0
    for pid in pids:
        line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith(name))
        kilobytes += int(line.split()[1])
    return kilobytes / 1024


Way = Callable[[str], Any]
WAYS: dict[str, Way] = {"one process": in_one_process, "over HTTP": over_http}


async def measure(way: Way, url: str, tokens: int, rounds: int, streams: int) -> dict[str, Any]:
    """One stream after another, then all at once."""
    async with way(url) as (one, pids):
        for _ in range(3):
            await one()
        busy = processor_seconds(pids)
        alone = [await one() for _ in range(rounds)]
        each = (processor_seconds(pids) - busy) / rounds
        before, busy = megabytes(pids, "VmRSS"), processor_seconds(pids)
        began = time.perf_counter()
        many = await asyncio.gather(*(_later(one, RAMP * number / streams) for number in range(streams)))
        seconds = time.perf_counter() - began
        return {
            "alone": _figures(alone),
            "many": _figures(many) if streams else {},
            "lost": sum(1 for stream in [*alone, *many] if not stream.whole(tokens)),
            "processor milliseconds for one stream alone": round(1000 * each, 1),
            "seconds for all at once": round(seconds, 1),
            "processor seconds": round(processor_seconds(pids) - busy, 1),
            "MB before": round(before),
            "MB at most": round(megabytes(pids, "VmHWM")),
        }


async def _later(one: OneStream, seconds: float) -> Stream:
    await asyncio.sleep(seconds)
    return await one()


def _figures(streams: list[Stream]) -> dict[str, tuple[float, float]]:
    """Medians and 95th percentiles in milliseconds."""
    spans = {
        "before": [stream.reached - stream.asked for stream in streams],
        "after": [stream.first - stream.written for stream in streams],
        "added to the first token": [stream.first - stream.asked - (stream.written - stream.reached) for stream in streams],
        "later tokens": [age for stream in streams for age in stream.ages[1:]],
    }
    return {name: _middle_and_most([1000 * one for one in values]) for name, values in spans.items() if values}


def _middle_and_most(values: list[float]) -> tuple[float, float]:
    return round(statistics.median(values), 1), round(statistics.quantiles(values, n=20)[18], 1) if len(values) > 1 else values[0]


async def main(streams: int, tokens: int, rounds: int, ways: list[str], as_json: bool) -> None:
    """Measure and print."""
    found = {}
    load = os.getloadavg()[0]
    with model_server(tokens) as url:
        for name in ways:
            found[name] = await measure(WAYS[name], url, tokens, rounds, streams)
    local = await measure_local(rounds) if importlib.util.find_spec("xllamacpp") else None
    if as_json:
        print(json.dumps({**found, "local": local}))
        return
    table = Table(title=f"Milliseconds, median and 95 %: one stream at a time ({rounds}), and {streams} at once; {tokens} tokens each")
    table.caption = f"load {load:.0f} on {os.cpu_count()} cores before"
    for column in ("way", "streams", "before", "after", "added to the first token", "later tokens"):
        table.add_column(column, justify="left" if column == "way" else "right")
    for name, figures in found.items():
        for kind, count in (("alone", 1), ("many", streams)):
            row = figures[kind]
            if not row:
                continue
            table.add_row(name, str(count), *(f"{row[one][0]:.0f} / {row[one][1]:.0f}" for one in row))
    Console(width=140).print(table)
    for name, figures in found.items():
        rest = {key: value for key, value in figures.items() if key not in ("alone", "many")}
        print(f"{name}: " + ", ".join(f"{key} {value}" for key, value in rest.items()))
    if local is not None:
        print("first token of local:smollm2, ms: " + ", ".join(f"{key} {value}" for key, value in local.items()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--tokens", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--way", choices=list(WAYS), action="append")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--model", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.model is not None:
        asyncio.run(serve_model(given.model))
    else:
        asyncio.run(main(given.streams, given.tokens, given.rounds, given.way or list(WAYS), given.json))
