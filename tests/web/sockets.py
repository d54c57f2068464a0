"""Websockets without a server."""

from typing import Any


class Socket:
    """A websocket as a server hands it to an application."""

    def __init__(self, app: Any, path: str, **headers: str) -> None:
        self.sent: list[dict[str, Any]] = []
        self._received: list[dict[str, Any]] = [{"type": "websocket.connect"}]
        self.scope = {
            "type": "websocket",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "scheme": "ws",
            "client": ("127.0.0.1", 5),
            "headers": [(b"host", b"127.0.0.1:8000"), *((name.encode(), value.encode()) for name, value in headers.items())],
        }
        self.app = app

    async def run(self, *texts: str, between: Any = None) -> list[dict[str, Any]]:
        self._received += [{"type": "websocket.receive", "text": text} for text in texts]
        self._received.append({"type": "websocket.disconnect", "code": 1000})

        async def receive() -> dict[str, Any]:
            message = self._received.pop(0)
            if message.get("text") == "revoke" and between is not None:
                await between()
            return message

        async def send(message: Any) -> None:
            self.sent.append(dict(message))

        await self.app(self.scope, receive, send)
        return self.sent
