"""A second process with an engine on the same file, which does what the test says, one thing at a time."""

import multiprocessing
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gateleg.engine import Engine, EngineError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_SPAWN = multiprocessing.get_context("spawn")


class Neighbour:
    """The test's end of the line to the other process."""

    def __init__(self, line: "Connection[Any, Any]") -> None:
        self._line = line

    def ask(self, operation: str, request: dict[str, Any], times: int = 1) -> None:
        """Have a call made, or the same one again and again, without waiting for it."""
        self._line.send((operation, request, times))

    def answer(self) -> Any:
        """The answer to what was asked, or the error that it failed with."""
        if not self._line.poll(60):
            raise AssertionError("the other process does not answer")
        answer = self._line.recv()
        if isinstance(answer, str):
            raise AssertionError(answer)
        if isinstance(answer, tuple):
            raise EngineError(*answer)
        return answer

    def call(self, operation: str, request: dict[str, Any]) -> Any:
        """Have a call made, and wait for its answer."""
        self.ask(operation, request)
        return self.answer()


@contextmanager
def neighbour(path: str) -> Iterator[Neighbour]:
    """Another process on a file, for as long as the context lasts."""
    ours, theirs = _SPAWN.Pipe()
    process = _SPAWN.Process(target=_serve, args=(path, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        yield Neighbour(ours)
        ours.send(None)
    finally:
        process.join(60)
        process.kill()
        process.join()
        process.close()
        ours.close()


def _serve(path: str, line: "Connection[Any, Any]") -> None:
    with Engine(path, durability="relaxed", background=False) as engine:
        while (asked := line.recv()) is not None:
            operation, request, times = asked
            try:
                answer: Any = None
                for _ in range(times):
                    answer = engine.call(operation, request)
                line.send(answer)
            except EngineError as error:
                line.send((error.code, error.message))
            except Exception:
                line.send(traceback.format_exc())
