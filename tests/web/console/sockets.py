"""A page and its socket without a browser: what somebody can send who writes their own client."""

import html
import json
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

import httpx
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect


class Built:
    """A page as the host has built it for the holder of a key."""

    def __init__(self, url: str, path: str, token: str) -> None:
        self.url, self.token = url, token
        answer = httpx.get(url + path, headers={"authorization": f"Bearer {token}", "accept": "text/html"}, timeout=60)
        answer.raise_for_status()
        found = re.search(r"client_id[^0-9a-f]{1,12}([0-9a-f-]{36})", answer.text)
        listed = re.search(r"parseElements\(String\.raw`(.*?)`\)", answer.text, re.DOTALL)
        assert found is not None
        assert listed is not None
        self.id = found[1]
        self.elements: dict[str, Any] = json.loads(html.unescape(listed[1]))

    def press(self, text: str) -> dict[str, Any]:
        """The event that a browser sends when the button with a text is pressed."""
        for number, element in self.elements.items():
            inner = [self.elements[str(child)] for child in element.get("children", ())]
            if element["tag"] == "button" and any(child.get("text") == text for child in inner):
                (listener,) = [event["listener_id"] for event in element["events"] if event["type"] == "click"]
                return {"id": int(number), "client_id": self.id, "listener_id": listener, "args": ["{}"]}
        raise AssertionError(f"there is no button {text!r} on the page")


class Socket:
    """A socket of somebody, once it is open."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        socket.recv(timeout=20)
        socket.send("40")
        #: whether the host has taken the socket for that of the page
        self.accepted = str(socket.recv(timeout=20)).startswith("40")

    def send(self, name: str, message: Any) -> None:
        """Send an event, and wait until the host has read it: it answers a question that comes after it."""
        self._socket.send("42" + json.dumps([name, message]))
        self._socket.send('427["handshake",{"client_id":"none"}]')
        while True:
            try:
                frame = str(self._socket.recv(timeout=20))
            except ConnectionClosed:
                return
            if frame.startswith("437"):
                return
            if frame == "2":
                self._socket.send("3")


@contextmanager
def opened(page: Built, *, of: Built | None = None) -> Iterator[Socket]:
    """The socket of whoever a page was built for. `of` names another page that it asks for."""
    query = {
        "client_id": (of or page).id,
        "next_message_id": 0,
        "implicit_handshake": "true",
        "document_id": str(uuid.uuid4()),
        "tab_id": str(uuid.uuid4()),
        "old_tab_id": "",
        "EIO": 4,
        "transport": "websocket",
    }
    address = f"{page.url.replace('http', 'ws', 1)}/_nicegui_ws/socket.io/?{urlencode(query)}"
    with connect(address, additional_headers={"authorization": f"Bearer {page.token}"}, max_size=None) as socket:
        yield Socket(socket)
