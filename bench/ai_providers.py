"""What it costs to stream from a remote model, beside the official SDKs of OpenAI, Anthropic and Google.

    python bench/ai_providers.py [--rounds 300] [--json]

A server on this machine speaks all three protocols and answers at once, with a stream of 50 words. Each client runs in a process of its
own: Gateleg in this environment, each SDK in `.bench/sdks` (made at the first run; it needs a package index). Measured are

- `modules`: those that a program has loaded after its first stream, without those of the interpreter
- `import`: processor time to import the client and open a model, in milliseconds, the least of several processes
- `memory`: the largest resident set after the first streams in MB, without that of an interpreter with the standard library's HTTP client
- `first`: the time from the call to the first word, in microseconds, blocking and awaited: the median over kept connections, without the
  time that a bare socket takes for the same bytes
- `event`: processor time for each further word of a stream, awaited, in microseconds

and `x` is how many times Gateleg's figure with the same protocol.
"""

import argparse
import asyncio
import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

HOME = Path(__file__).parents[1] / ".bench" / "sdks"
SDKS = ("openai", "anthropic", "google-genai")
WORDS = 50
FIGURES = ("modules", "import", "memory", "first", "first awaited", "event")


def _event(body: Any, name: str = "") -> bytes:
    return (f"event: {name}\n" if name else "").encode() + b"data: " + json.dumps(body).encode() + b"\n\n"


def _openai() -> bytes:
    chunk: dict[str, Any] = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    words = [_event(chunk | {"choices": [{"index": 0, "delta": {"content": f"word{n} "}, "finish_reason": None}]}) for n in range(WORDS)]
    end = _event(chunk | {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    return b"".join([*words, end, b"data: [DONE]\n\n"])


def _anthropic() -> bytes:
    usage = {"input_tokens": 1, "output_tokens": 1}
    message: dict[str, Any] = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "usage": usage,
    }
    bodies: list[dict[str, Any]] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": f"word{n} "}} for n in range(WORDS)),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]
    return b"".join(_event(body, body["type"]) for body in bodies)


def _gemini() -> bytes:
    def body(text: str, **more: Any) -> dict[str, Any]:
        return {"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "index": 0} | more], "modelVersion": "m"}

    return b"".join([*(_event(body(f"word{n} ")) for n in range(WORDS)), _event(body("", finishReason="STOP"))])


STREAMS = {b"completions": _openai(), b"messages": _anthropic(), b"streamGenerateContent": _gemini()}


def _answer(path: bytes) -> bytes:
    body = next(stream for name, stream in STREAMS.items() if name in path)
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    return head + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)


def serve() -> None:
    """Answer every request with the stream of its protocol; prints the port."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                lengths = [line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
                await reader.readexactly(int(lengths[0]) if lengths else 0)
                writer.write(_answer(head.split(b" ")[1]))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def main() -> None:
        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()

    asyncio.run(main())


Streams = tuple[Callable[[], Iterator[str]], Callable[[], AsyncIterator[str]]]


def gateleg(provider: str, url: str) -> Streams:
    """Our own client."""
    from gateleg.ai import AsyncModels, Models, User

    place = f"{url}/v1" if provider == "openai" else url
    chat = Models().chat(f"{provider}:m@{place}", key="k")
    asynchronous = AsyncModels().chat(f"{provider}:m@{place}", key="k")

    def blocking() -> Iterator[str]:
        return (delta.text for delta in chat.stream([User("Hi")], max_tokens=100))

    async def awaited() -> AsyncIterator[str]:
        async for delta in asynchronous.stream([User("Hi")], max_tokens=100):
            yield delta.text

    return blocking, awaited


def openai(url: str) -> Streams:
    """OpenAI's SDK."""
    from importlib import import_module

    module = import_module("openai")
    client, asynchronous = (kind(api_key="k", base_url=f"{url}/v1", max_retries=0) for kind in (module.OpenAI, module.AsyncOpenAI))
    options: dict[str, Any] = {"model": "m", "max_completion_tokens": 100, "stream": True, "messages": [{"role": "user", "content": "Hi"}]}

    def blocking() -> Iterator[str]:
        return (chunk.choices[0].delta.content or "" for chunk in client.chat.completions.create(**options) if chunk.choices)

    async def awaited() -> AsyncIterator[str]:
        async for chunk in await asynchronous.chat.completions.create(**options):
            yield chunk.choices[0].delta.content or ""

    return blocking, awaited


def anthropic(url: str) -> Streams:
    """Anthropic's SDK."""
    from importlib import import_module

    module = import_module("anthropic")
    client, asynchronous = (kind(api_key="k", base_url=url, max_retries=0) for kind in (module.Anthropic, module.AsyncAnthropic))
    options: dict[str, Any] = {"model": "m", "max_tokens": 100, "stream": True, "messages": [{"role": "user", "content": "Hi"}]}

    def blocking() -> Iterator[str]:
        return (event.delta.text for event in client.messages.create(**options) if event.type == "content_block_delta")

    async def awaited() -> AsyncIterator[str]:
        async for event in await asynchronous.messages.create(**options):
            if event.type == "content_block_delta":
                yield event.delta.text

    return blocking, awaited


def google(url: str) -> Streams:
    """Google's SDK."""
    from importlib import import_module

    client = import_module("google.genai").Client(api_key="k", vertexai=False, http_options={"base_url": url})
    options: dict[str, Any] = {"model": "m", "contents": "Hi", "config": {"max_output_tokens": 100}}

    def blocking() -> Iterator[str]:
        return (event.text or "" for event in client.models.generate_content_stream(**options))

    async def awaited() -> AsyncIterator[str]:
        async for event in await client.aio.models.generate_content_stream(**options):
            yield event.text or ""

    return blocking, awaited


#: By protocol: the path, the SDK, and the provider's name at Gateleg.
CONTENDERS: dict[str, tuple[str, Callable[[str], Streams]]] = {
    "openai": ("openai", openai),
    "anthropic": ("anthropic", anthropic),
    "gemini": ("google-genai", google),
}
PATHS = {"openai": "/v1/chat/completions", "anthropic": "/v1/messages", "gemini": "/v1/models/m:streamGenerateContent"}


def _bare(url: str, path: str, rounds: int) -> float:
    """The microseconds until a bare socket has the first bytes, over a kept connection: the median."""
    host, port = url.removeprefix("http://").split(":")
    request = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{{}}".encode()
    size, times = len(_answer(path.encode())), []
    with socket.create_connection((host, int(port))) as wire:
        wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(rounds):
            began = time.perf_counter()
            wire.sendall(request)
            got = len(wire.recv(65_536))
            times.append(time.perf_counter() - began)
            while got < size:
                got += len(wire.recv(65_536))
    return statistics.median(times) * 1e6


def measure(name: str, protocol: str, url: str, rounds: int) -> dict[str, float]:
    """The figures of one client, in this process."""
    import http.client  # noqa: F401 - what an interpreter that speaks HTTP has loaded anyway

    loaded, memory, cpu = set(sys.modules), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    blocking, awaited = gateleg(protocol, url) if name == "gateleg" else CONTENDERS[protocol][1](url)
    opened = time.process_time() - cpu
    assert "".join(blocking()).count("word") == WORDS
    modules = len(set(sys.modules) - loaded)

    def first() -> float:
        began = time.perf_counter()
        stream = blocking()
        assert next(text for text in stream if text)
        took = time.perf_counter() - began
        for _ in stream:
            pass
        return took

    async def first_awaited() -> list[tuple[float, float]]:
        figures = []
        for _ in range(rounds):
            began = time.perf_counter()
            stream, took, busy = awaited(), 0.0, 0.0
            async for text in stream:
                if text and not took:
                    took, busy = time.perf_counter() - began, time.process_time()
            figures.append((took, (time.process_time() - busy) / WORDS))
        return figures

    for _ in range(20):
        first()
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    firsts = [first() for _ in range(rounds)]
    streamed = asyncio.run(first_awaited())
    bare = _bare(url, PATHS[protocol], rounds)
    return {
        "modules": modules,
        "import": opened * 1000,
        "memory": (resident - memory) / (1024 if sys.platform != "darwin" else 1024**2),
        "first": statistics.median(firsts) * 1e6 - bare,
        "first awaited": statistics.median(took for took, _ in streamed) * 1e6 - bare,
        "event": statistics.median(busy for _, busy in streamed) * 1e6,
    }


def sdk_python() -> Path:
    """The interpreter of the environment that has the SDKs, which is made if it is missing."""
    python = HOME / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(HOME)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *SDKS], check=True)
    return python


def run(python: Path | str, name: str, protocol: str, url: str, rounds: int) -> dict[str, float]:
    """The figures of a client: the least import time of three processes, and everything else of the last one."""
    command = [str(python), __file__, "--only", name, "--protocol", protocol, "--url", url, "--rounds", str(rounds)]
    # Bytecode is compiled before it is measured.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    figures = [json.loads(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout) for _ in range(4)][
        1:
    ]
    least: dict[str, float] = {figure: min(entry[figure] for entry in figures) for figure in FIGURES}
    return least


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    for hidden in ("--only", "--protocol", "--url"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
    elif options.only:
        print(json.dumps(measure(options.only, options.protocol, options.url, options.rounds)))
    else:
        compare(options.rounds, as_json=options.json)


def compare(rounds: int, *, as_json: bool) -> None:
    """Run all clients beside one server, and print their figures."""
    python = sdk_python()
    server = subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}"
        results = {
            protocol: {name: run(place, name, protocol, url, rounds) for name, place in (("gateleg", sys.executable), (sdk, python))}
            for protocol, (sdk, _) in CONTENDERS.items()
        }
    finally:
        server.terminate()
        server.wait(10)
    if as_json:
        print(json.dumps(results))
        return
    print(f"{'':26}" + "".join(f"{figure:>20}" for figure in FIGURES))
    for protocol, clients in results.items():
        for name, figures in clients.items():
            cells = [f"{figures[figure]:10,.1f} x {figures[figure] / clients['gateleg'][figure]:6.2f}" for figure in FIGURES]
            print(f"{protocol:10} {name:14} " + "".join(f"{cell:>20}" for cell in cells))


if __name__ == "__main__":
    main()
