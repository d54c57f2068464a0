"""Many callers share one `Models`, and each hears its own answer."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from gateleg.ai import AsyncChat, AsyncModels, Chat, Models, User
from gateleg.ai.errors import ModelRefused
from tests.ai.echo import echo
from tests.net.http.faulty import Act, answer, service

PROVIDERS = ("anthropic", "gemini", "bedrock", "openai", "openai-responses", "ollama")


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


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_streams_that_wait_occupy_no_thread(provider: str) -> None:
    def threads() -> set[threading.Thread]:
        return {thread for thread in threading.enumerate() if thread.name.startswith("gateleg-ai")}

    silent = Act((b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",), "silence")
    with service(answer(status=400), *[silent] * 40) as server:
        async with AsyncModels() as models, asyncio.timeout(30):
            chat = models.chat(f"{provider}:m@{server.url}", key=None if provider == "bedrock" else "k")
            # What blocks once, such as finding credentials, is over after the first call.
            with pytest.raises(ModelRefused):
                await chat.reply([User("?")])
            before = threads()
            waiting = [asyncio.ensure_future(anext(chat.stream([User("?")]))) for _ in range(40)]
            while len(server.requests) < 41:
                await asyncio.sleep(0)
            after = threads()
            for task in waiting:
                task.cancel()
            ends = await asyncio.gather(*waiting, return_exceptions=True)
    assert {type(end) for end in ends} == {asyncio.CancelledError}
    assert after <= before
