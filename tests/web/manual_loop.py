"""An event loop whose clock the test moves, for what waits by the loop's time."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class ManualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time stands still between the steps of a test. What threads and sockets bring is handled as usual."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0

    def time(self) -> float:
        """The time of the test."""
        return self.now

    async def advance(self, seconds: float, step: float = 0.005) -> None:
        """Let time pass in small steps, each with some turns of the loop."""
        for _ in range(round(seconds / step)):
            self.now += step
            for _ in range(3):
                await asyncio.sleep(0)

    async def advance_until(self, done: Callable[[], bool], *, most: float, step: float = 0.005) -> None:
        """Let time pass until something is done. Fails after `most` seconds of the loop's time."""
        end = self.now + most
        while not done():
            assert self.now < end, f"not done within {most:g} s of the loop's time"
            await self.advance(step, step)


def run_manually(test: Callable[[ManualLoop], Coroutine[Any, Any, None]]) -> None:
    """Run a coroutine in a manual loop."""
    with asyncio.Runner(loop_factory=ManualLoop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, ManualLoop)
        runner.run(test(loop))
