"""Many callers share one `Models`, and each hears its own answer."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

from gateleg.ai import AsyncChat, AsyncModels, Chat, Models, User
from gateleg.ai.steps import Offload
from tests.ai.echo import echo


def ask(chat: Chat, number: int) -> bool:
    text = f"caller {number}"
    if number % 2:
        return chat.reply([User(text)]).text == text
    return "".join(delta.text for delta in chat.stream([User(text)])) == text


async def ask_async(chat: AsyncChat, number: int) -> bool:
    text = f"caller {number}"
    if number % 2:
        return (await chat.reply([User(text)])).text == text
    return "".join([delta.text async for delta in chat.stream([User(text)])]) == text


def test_threads_hear_their_own_answers() -> None:
    with echo() as url, Models() as models, ThreadPoolExecutor(8) as threads:
        chat = models.chat(f"ollama:m@{url}")
        assert all(threads.map(lambda number: ask(chat, number), range(60)))


async def test_tasks_hear_their_own_answers() -> None:
    with echo() as url:
        async with AsyncModels() as models:
            chat = models.chat(f"ollama:m@{url}")
            assert all(await asyncio.gather(*[ask_async(chat, number) for number in range(60)]))


async def test_streams_that_wait_in_threads_keep_nobody_from_an_answer() -> None:
    go = threading.Event()
    async with AsyncModels() as models, asyncio.timeout(30):
        waiting = [asyncio.ensure_future(models._perform(Offload(go.wait))) for _ in range(200)]
        try:
            assert await models._perform(Offload(lambda: "an answer")) == "an answer"
        finally:
            go.set()
            await asyncio.gather(*waiting)
