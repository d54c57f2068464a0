"""Many open consoles on one host: what they cost while nothing happens, and how soon all of them see a change.

python bench/consoles.py [CONSOLES]

Half of them look at the overview and half at the list of jobs. Each is a page that was really built, and a socket that speaks as the script
of the page does; nothing draws. The host has the worker of `gateleg up --demo`, whose first jobs are let end.
"""

import asyncio
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

import httpx
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from gateleg.host.credentials import token_from
from gateleg.host.host_secret import read_secret

COMMAND = [sys.executable, "-c", "from gateleg.cli import main; main()", "up", "--demo", "--no-browser", "--port", "0", "--drain", "0"]
PATHS = ("/", "/jobs")
#: Seconds for which the consoles are left alone.
IDLE = 20.0
#: Changes that are made, one after the other.
CHANGES = 5
#: Pages that are asked for at once.
AT_ONCE = 8


@dataclass
class Console:
    """One open page."""

    path: str
    frames: int = 0
    bytes: int = 0
    #: when each text that is looked for came by
    seen: dict[str, float] = field(default_factory=dict)
    socket: ClientConnection | None = None
    lost: bool = False
    _next: int = 0

    async def open(self, client: httpx.AsyncClient) -> None:
        """Get the page, then connect as its script does."""
        answer = await client.get(self.path)
        answer.raise_for_status()
        found = re.search(r"client_id[^0-9a-f]{1,12}([0-9a-f-]{36})", answer.text)
        assert found is not None, "the page does not say its id"
        tab = str(uuid.uuid4())
        query = {
            "client_id": found[1],
            "next_message_id": 0,
            "implicit_handshake": "true",
            "document_id": str(uuid.uuid4()),
            "tab_id": tab,
            "old_tab_id": "",
            "EIO": 4,
            "transport": "websocket",
        }
        known = {"authorization": client.headers["authorization"]}
        base = str(client.base_url).replace("http", "ws", 1).rstrip("/")
        self.socket = await connect(
            f"{base}/_nicegui_ws/socket.io/?{urlencode(query)}", max_size=None, ping_interval=None, additional_headers=known
        )
        self._id = found[1]
        await self.socket.recv()
        await self.socket.send("40")
        await self.socket.recv()

    async def follow(self, wanted: set[str]) -> None:
        """Read what comes, answer what must be answered, and note when a wanted text comes by."""
        assert self.socket is not None
        try:
            async for raw in self.socket:
                text = raw if isinstance(raw, str) else raw.decode()
                if text == "2":
                    await self.socket.send("3")
                    continue
                self.frames += 1
                self.bytes += len(text)
                for word in wanted:
                    if word in text:
                        self.seen.setdefault(word, time.perf_counter())
                if (number := re.search(r'"_id":(\d+)', text)) is not None:
                    self._next = int(number[1]) + 1
        except ConnectionClosed:
            self.lost = True

    async def acknowledge(self) -> None:
        """Say what has come, as the script does every three seconds."""
        acked = -1
        while self.socket is not None and not self.lost:
            await asyncio.sleep(3)
            if self._next > acked:
                acked = self._next
                await self.socket.send("42" + json.dumps(["ack", {"client_id": self._id, "next_message_id": acked}]))


@asynccontextmanager
async def host(folder: str) -> AsyncIterator[tuple[str, int]]:
    """A host on a new folder: its address and its process id."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GATELEG_")}
    environ |= {"PYTHONUNBUFFERED": "1", "GATELEG_ADDRESS_CONNECTIONS": "800"}
    with (Path(folder) / "log.txt").open("w") as log:
        process = subprocess.Popen([*COMMAND, "--data", f"{folder}/data"], stdout=subprocess.PIPE, stderr=log, text=True, env=environ)
    try:
        assert process.stdout is not None
        line = await asyncio.to_thread(process.stdout.readline)
        if " at http" not in line:
            raise SystemExit(f"the host did not start: {(Path(folder) / 'log.txt').read_text()}")
        yield line.rpartition(" ")[2].strip(), process.pid
    finally:
        process.send_signal(signal.SIGINT)
        await asyncio.to_thread(process.wait, 60)


def processor_seconds(pid: int) -> float:
    """What a process has used so far."""
    parts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid: int) -> int:
    """Megabytes of a process."""
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1]) // 1024  # type: ignore[index]


async def settle(client: httpx.AsyncClient) -> None:
    """Wait until the demonstration has nothing more to do; its slow job is called off."""
    while True:
        running = (await client.get("/api/jobs", params={"status": "PROCESSING"})).json()["items"]
        waiting = (await client.get("/api/jobs", params={"status": "PENDING"})).json()["items"]
        left = [job for job in (*running, *waiting) if job["job_type"] not in ("demo.fingerprint", "demo.ratings")]
        for job in (*running, *waiting):
            if job["job_type"] == "demo.fingerprint":
                await client.post(f"/api/jobs/{job['job_id']}/cancel", json={})
        if not left and not running:
            return
        await asyncio.sleep(1)


async def idle(pid: int, consoles: list[Console], words: str) -> None:
    """Print what a host uses while nobody does anything."""
    frames, before, began = sum(one.frames for one in consoles), processor_seconds(pid), time.perf_counter()
    await asyncio.sleep(IDLE)
    seconds = time.perf_counter() - began
    used = (processor_seconds(pid) - before) / seconds
    sent = (sum(one.frames for one in consoles) - frames) / seconds
    print(f"{words:>24}: {used:6.1%} of a core, {sent:6.1f} messages a second, {memory(pid)} MB", flush=True)


async def change(client: httpx.AsyncClient, consoles: list[Console], wanted: set[str]) -> list[float]:
    """Submit a job, and wait until every console has been told; the seconds that it took for each."""
    word = f"seen-{uuid.uuid4().hex[:12]}"
    wanted.add(word)
    began = time.perf_counter()
    (await client.post("/api/jobs", json={"job_type": "demo.decades", "subject": word, "priority": 1})).raise_for_status()
    while time.perf_counter() - began < 60 and not all(word in one.seen or one.lost for one in consoles):
        await asyncio.sleep(0.02)
    return [one.seen[word] - began for one in consoles if word in one.seen]


async def measure(number: int) -> None:
    """Open, leave alone, change."""
    with tempfile.TemporaryDirectory() as folder:
        async with host(folder) as (url, pid), httpx.AsyncClient(base_url=url, timeout=60) as client:
            client.headers["authorization"] = f"Bearer {token_from(read_secret(Path(folder) / 'data'))}"
            await settle(client)
            await idle(pid, [], "idle, nobody looks")
            consoles, wanted = [Console(PATHS[index % len(PATHS)]) for index in range(number)], set[str]()
            turns = asyncio.Semaphore(AT_ONCE)
            tasks: list[asyncio.Task[None]] = []

            async def opened(one: Console) -> None:
                async with turns:
                    await one.open(client)
                tasks.extend((asyncio.create_task(one.follow(wanted)), asyncio.create_task(one.acknowledge())))

            began = time.perf_counter()
            await asyncio.gather(*map(opened, consoles))
            print(f"{'opened':>24}: {number} consoles in {time.perf_counter() - began:.1f} s", flush=True)
            await asyncio.sleep(5)
            await idle(pid, consoles, f"idle, {number} look")
            for _ in range(CHANGES):
                times = sorted(await change(client, consoles, wanted))
                told = f"first {times[0]:.2f} s, half {statistics.median(times):.2f} s, last {times[-1]:.2f} s"
                print(f"{'a change is seen':>24}: {told}, by {len(times)} of {number}", flush=True)
                await asyncio.sleep(3)
            print(f"{'lost':>24}: {sum(one.lost for one in consoles)}")
            for task in tasks:
                task.cancel()
            for one in consoles:
                if one.socket is not None:
                    one.socket.transport.abort()


if __name__ == "__main__":
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores before the start", flush=True)
    asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 200))
