"""A server on this machine that speaks OpenAI's protocol and answers as it is told."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import orjson


@contextmanager
def answering(content_of: Callable[[str], str], status: int = 200) -> Iterator[str]:
    """A server that answers the last message of each request; the address of its model."""

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            question = orjson.loads(self.rfile.read(int(self.headers["content-length"])))
            text = question["messages"][-1]["content"]
            content = content_of(text if isinstance(text, str) else text[0]["text"])
            message = {"role": "assistant", "content": content}
            body = {"id": "x", "object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
            sent = orjson.dumps(body | {"usage": {"prompt_tokens": 1, "completion_tokens": 1}})
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *parts: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"openai:test@http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
