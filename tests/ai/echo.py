"""A service of Ollama's dialect that says back what it hears, to any number of callers at once."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import orjson


class _Echo(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = orjson.loads(self.rfile.read(int(self.headers["content-length"])))
        text = asked["messages"][-1]["content"]
        self.send_response(200)
        if asked["stream"]:
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for letter in text:
                self._chunk({"message": {"content": letter}, "done": False})
            self._chunk({"message": {"content": ""}, "done": True})
            self.wfile.write(b"0\r\n\r\n")
        else:
            body = orjson.dumps({"message": {"content": text}, "done": True})
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def _chunk(self, body: object) -> None:
        data = orjson.dumps(body) + b"\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True


@contextmanager
def echo() -> Iterator[str]:
    """The URL of such a service."""
    with _Server(("127.0.0.1", 0), _Echo) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join(10)
