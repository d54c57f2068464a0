"""Writers that are made to be killed: each takes steps until its end, and keeps a journal of them beside the database.

    python -m tests.engine.crash.writer <database or URL> <folder of journals> <seed> <name> ...

The writers of `queue:<database>` share commits. There is a thread for each name. A line of a journal is a step that is about to be taken,
or the word that the one before was acknowledged or refused; a line counts once it is on the disk.
"""

import asyncio
import http.client
import json
import os
import random
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, cast

from gateleg.engine import Engine, EngineError
from gateleg.engine.commit_queue import CommitQueue
from tests.engine.crash import ledger
from tests.engine.crash.caller import Caller
from tests.engine.crash.ledger import Call, History, Step

_DONE, _REFUSED = "done", "refused"


class Journal:
    """What a writer has done, on the disk before it does anything else."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)

    def note(self, entry: object) -> None:
        """Add a line."""
        self._file.write(json.dumps(entry).encode() + b"\n")
        os.fdatasync(self._file.fileno())


def read_journal(path: Path) -> History:
    """A writer's history from its journal, whose last line may be torn."""
    done: list[Step] = []
    last: Step | None = None
    for line in path.read_bytes().split(b"\n")[:-1]:
        entry = json.loads(line)
        if isinstance(entry, dict):
            last = Step(**entry)
            continue
        if entry == _DONE and last is not None:
            done.append(last)
        last = None
    return History(path.stem, tuple(done), last)


class QueuedCaller:
    """An engine, to be called from threads, whose writes go through one commit queue."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._queue = CommitQueue(engine, max_writes=8, thread=True, commits_in_thread=True)
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Answer a request once its commit is durable."""
        outcomes: SimpleQueue[Any] = SimpleQueue()
        self._loop.call_soon_threadsafe(self._queue.submit, partial(self._engine.call, operation, request), outcomes.put)
        outcome = outcomes.get()
        if isinstance(outcome, Exception):
            raise outcome
        return cast("dict[str, Any]", outcome)


def write(call: Call, journal: Journal, name: str, chance: random.Random) -> None:
    """Take one step after the other, for ever."""
    position = 0
    while True:
        step = ledger.plan(chance, position)
        position += 1
        journal.note(asdict(step))
        try:
            call(*ledger.requests(name, step))
        except EngineError as error:
            if error.code != "TransactionCanceledException":
                raise
            journal.note(_REFUSED)
            continue
        journal.note(_DONE)


def main(target: str, folder: str, seed: str, *names: str) -> None:
    """Write until killed, or until the endpoint is gone."""
    if target.startswith("http"):
        callers: list[Callable[[], Call]] = [lambda: Caller(target).call] * len(names)
    elif target.startswith("queue:"):
        queued = QueuedCaller(Engine(target.removeprefix("queue:")))
        callers = [lambda: queued.call] * len(names)
    else:
        engine = Engine(target)
        callers = [lambda: engine.call] * len(names)

    def run(name: str, caller: Callable[[], Call]) -> None:
        try:
            write(caller(), Journal(Path(folder) / f"{name}.journal"), name, random.Random(f"{seed} {name}"))
        except (OSError, http.client.HTTPException):
            return
        except BaseException:
            traceback.print_exc()
            os._exit(1)

    threads = [threading.Thread(target=run, args=pair) for pair in zip(names, callers, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
