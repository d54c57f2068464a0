"""Connections: kept, found closed, broken, and never left with half an answer."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing

import orjson
import pytest

from gateleg.ai import AsyncModels, Models, ModelUnreachable, User
from gateleg.ai.errors import InvalidModelRequest, InvalidModelResponse
from tests.ai.driving import Asker
from tests.ai.speaking import lines, said
from tests.net.http.faulty import Act, answer, service

Asking = Callable[..., Asker]
BODY = {"model": "m", "message": {"role": "assistant", "content": "Yes"}, "done": True}
YES = said(BODY)


def test_connection_is_kept_for_the_next_call() -> None:
    with service(YES, YES, lines(BODY), YES) as server, Models() as models:
        chat = models.chat(f"ollama:m@{server.url}")
        assert [chat.reply([User("?")]).text for _ in range(2)] == ["Yes", "Yes"]
        assert [delta.text for delta in chat.stream([User("?")])] == ["Yes", ""]
        chat.reply([User("?")])
    assert server.connections == 1


def test_awaited_connection_is_kept_for_the_next_call() -> None:
    async def main(url: str) -> None:
        async with AsyncModels() as models:
            chat = models.chat(f"ollama:m@{url}")
            for _ in range(3):
                await chat.reply([User("?")])

    with service(YES, YES, YES) as server:
        asyncio.run(main(server.url))
    assert server.connections == 1


def test_kept_connection_that_was_closed_costs_no_attempt() -> None:
    with service(Act(YES.pieces, "close"), YES) as server, Models() as models:
        chat = models.chat(f"ollama:m@{server.url}")
        chat.reply([User("?")])
        assert server.closed.wait(10)
        assert chat.reply([User("?")]).text == "Yes"
    assert len(server.requests) == 2


def test_models_outlive_an_event_loop() -> None:
    models = AsyncModels()
    with service(YES, YES) as server:
        chat = models.chat(f"ollama:m@{server.url}")

        async def once() -> str:
            text = (await chat.reply([User("?")])).text
            await models.close()
            return text

        assert [asyncio.run(once()) for _ in range(2)] == ["Yes", "Yes"]


def test_stream_that_nobody_wants_to_end_is_closed() -> None:
    unending = lines(BODY | {"done": False}, whole=False, end="silence")
    with service(unending) as server, Models() as models:
        stream = models.chat(f"ollama:m@{server.url}").stream([User("?")])
        assert next(stream).text == "Yes"
        stream.close()
        assert server.left.wait(10)


def test_awaited_stream_that_nobody_wants_to_end_is_closed() -> None:
    async def main(url: str) -> str:
        async with AsyncModels() as models, aclosing(models.chat(f"ollama:m@{url}").stream([User("?")])) as stream:
            async for delta in stream:
                return delta.text
        return ""

    with service(lines(BODY | {"done": False}, whole=False, end="silence")) as server:
        assert asyncio.run(main(server.url)) == "Yes"
        assert server.left.wait(10)


def test_cancelled_call_closes_its_connection() -> None:
    async def main(url: str, silent: Callable[[], bool]) -> None:
        async with AsyncModels() as models:
            task = asyncio.create_task(models.chat(f"ollama:m@{url}").reply([User("?")]))
            while not silent():
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    with service(Act(end="silence")) as server:
        asyncio.run(main(server.url, lambda: bool(server.requests)))
        assert server.left.wait(10)


def test_answer_without_a_length_ends_with_its_connection(asker: Asking) -> None:
    with service(Act((b"HTTP/1.1 200 OK\r\n\r\n", orjson.dumps(BODY)), "close")) as server:
        assert asker(f"ollama:m@{server.url}").reply([User("?")]).text == "Yes"


def test_interim_answer_is_passed_over(asker: Asking) -> None:
    with service(Act((b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n", *YES.pieces))) as server:
        assert asker(f"ollama:m@{server.url}").reply([User("?")]).text == "Yes"


def test_answer_that_is_not_http_is_a_bad_one(asker: Asking) -> None:
    with service(Act((b"SSH-2.0-OpenSSH\r\n",), "close")) as server, pytest.raises(InvalidModelResponse, match="not HTTP"):
        asker(f"ollama:m@{server.url}").reply([User("?")])


def test_answer_cut_short_is_lost(asker: Asking) -> None:
    cut = Act((b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{",), "close")
    with service(cut) as server, pytest.raises(ModelUnreachable, match="in the middle"):
        asker(f"ollama:m@{server.url}", attempts=1).reply([User("?")])


def test_redirection_is_not_followed(asker: Asking) -> None:
    with service(answer(b"", 302, location="http://elsewhere.example/")) as server, pytest.raises(Exception, match="answered 302"):
        asker(f"ollama:m@{server.url}", key="secret").reply([User("?")])
    assert len(server.requests) == 1


def test_key_that_cannot_be_sent_is_refused_before_anything_is(asker: Asking) -> None:
    with service() as server, pytest.raises(InvalidModelRequest, match="authorization cannot be sent"):
        asker(f"ollama:m@{server.url}", key="a\r\nx-evil: 1").reply([User("?")])
    assert server.requests == []
