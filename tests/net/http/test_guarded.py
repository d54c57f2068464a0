"""The guarded client connects to checked addresses only, checks redirects, and enforces its limits."""

import ipaddress
from collections.abc import Sequence
from urllib.parse import urlsplit

import pytest

from gateleg.net import Guard
from gateleg.net.errors import AddressRefused, AnswerTooLarge, NotReached, OutgoingTimedOut, TooManyRedirects
from gateleg.net.http import GuardedClient, HttpRequest
from tests.net.http.faulty import CLOSE, SILENCE, Act, answer
from tests.net.http.faulty import service as playing


class Names:
    """A resolver whose answers change from call to call."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[ipaddress.IPv4Address | ipaddress.IPv6Address]:
        self.asked.append(host)
        return [ipaddress.ip_address(self.answers.pop(0) if len(self.answers) > 1 else self.answers[0])]


LOCAL = Guard(allow=("127.0.0.1",))


def get(url: str, **headers: str) -> HttpRequest:
    return HttpRequest(url, method="GET", headers=headers)


async def test_an_allowed_server_answers() -> None:
    with playing(answer(b"hello")) as service:
        found = await GuardedClient(LOCAL).fetch(get(f"{service.url}/a?b=1"))
    assert (found.status, found.body, found.url) == (200, b"hello", f"{service.url}/a?b=1")
    assert service.requests[0].startswith(b"GET /a?b=1 HTTP/1.1\r\nhost: 127.0.0.1")


async def test_a_name_that_resolves_to_an_internal_address_is_refused_before_sending() -> None:
    with playing(answer(b"secret")) as service:
        port = urlsplit(service.url).port
        client = GuardedClient(Guard(ports=frozenset({port or 0})), resolve=Names("127.0.0.1"))
        with pytest.raises(AddressRefused, match="not public"):
            await client.fetch(get(f"http://innocent.example:{port}/"))
    assert service.connections == 0


async def test_a_name_is_resolved_once_for_a_request_so_that_it_cannot_change_in_between() -> None:
    with playing(answer(b"fine")) as service:
        port = urlsplit(service.url).port
        names = Names("127.0.0.1", "10.0.0.1")
        found = await GuardedClient(LOCAL, resolve=names).fetch(get(f"http://rebinding.example:{port}/"))
    assert found.body == b"fine"
    assert names.asked == ["rebinding.example"]
    assert b"host: rebinding.example" in service.requests[0]


async def test_one_internal_address_among_public_ones_refuses_the_name() -> None:
    async def both(host: str, port: int) -> Sequence[ipaddress.IPv4Address]:
        return [ipaddress.IPv4Address("93.184.216.34"), ipaddress.IPv4Address("169.254.169.254")]

    with pytest.raises(AddressRefused):
        await GuardedClient(resolve=both).fetch(get("http://both.example/"))


@pytest.mark.parametrize("target", ["http://169.254.169.254/latest/meta-data/", "http://[::1]/", "file:///etc/passwd", "//10.0.0.1/"])
async def test_a_redirect_is_checked_like_the_first_address(target: str) -> None:
    with playing(answer(status=302, location=target)) as service, pytest.raises(AddressRefused):
        await GuardedClient(LOCAL).fetch(get(service.url))


async def test_redirections_are_followed_and_bounded() -> None:
    with playing(answer(status=302, location="/two"), answer(b"two")) as service:
        assert (await GuardedClient(LOCAL).fetch(get(f"{service.url}/one"))).body == b"two"
    with playing(*(answer(status=307, location="/again") for _ in range(9))) as service, pytest.raises(TooManyRedirects, match="3 times"):
        await GuardedClient(LOCAL, redirects=3).fetch(get(service.url))


async def test_without_redirections_the_answer_itself_is_given() -> None:
    with playing(answer(status=302, location="/two")) as service:
        assert (await GuardedClient(LOCAL, redirects=0).fetch(get(service.url))).status == 302


async def test_keys_do_not_follow_a_redirection_to_another_server() -> None:
    with playing(answer(b"end")) as other, playing(answer(status=307, location=f"{other.url}/x")) as first:
        request = HttpRequest(first.url, b"body", {"Authorization": "Bearer key", "X-Api-Key": "k", "content-type": "text/plain"})
        await GuardedClient(LOCAL).fetch(request)
    assert b"Authorization: Bearer key" in first.requests[0]
    head = other.requests[0].lower()
    assert b"bearer" not in head
    assert b"x-api-key" not in head
    assert b"content-type: text/plain" in head
    assert head.startswith(b"post /x")


async def test_a_post_that_is_redirected_to_see_another_is_read_with_get() -> None:
    with playing(answer(status=303, location="/seen"), answer(b"seen")) as service:
        await GuardedClient(LOCAL).fetch(HttpRequest(service.url, b"body"))
    assert service.requests[1].startswith(b"GET /seen")
    assert not service.requests[1].endswith(b"body")


async def test_an_answer_that_is_too_large_is_cut_off() -> None:
    endless = Act((b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", *(b"4000\r\n" + b"x" * 0x4000 + b"\r\n" for _ in range(100))))
    with playing(endless) as service, pytest.raises(AnswerTooLarge):
        await GuardedClient(LOCAL, limit=1000).fetch(get(service.url))
    with playing(answer(b"x" * 5000)) as service, pytest.raises(AnswerTooLarge, match="1,000 bytes"):
        await GuardedClient(LOCAL, limit=1000).fetch(get(service.url))


async def test_a_silent_server_times_out() -> None:
    with playing(SILENCE) as service, pytest.raises(OutgoingTimedOut):
        await GuardedClient(LOCAL, seconds=0.05).fetch(get(service.url))


async def test_errors_for_invalid_answers_and_closed_ports_reveal_no_details() -> None:
    with playing(Act((b"SSH-2.0\r\n\r\n",), "close")) as service, pytest.raises(NotReached) as broken:
        await GuardedClient(LOCAL).fetch(get(service.url))
    assert "SSH" not in str(broken.value)
    with playing(CLOSE) as service:
        url = service.url
    with pytest.raises(NotReached):
        await GuardedClient(LOCAL).fetch(get(url))


@pytest.mark.parametrize(
    "headers", [{"Host": "inner"}, {"Transfer-Encoding": "chunked"}, {"x": "a\r\nHost: inner"}, {"Content-Length": "0"}]
)
async def test_headers_cannot_change_where_a_request_goes_or_ends(headers: dict[str, str]) -> None:
    with playing() as service, pytest.raises(AddressRefused):
        await GuardedClient(LOCAL).fetch(HttpRequest(service.url, b"body", headers))
    assert service.connections == 0


async def test_a_method_cannot_smuggle_a_second_request() -> None:
    with playing() as service, pytest.raises(AddressRefused):
        await GuardedClient(LOCAL).fetch(HttpRequest(service.url, method="GET / HTTP/1.1\r\nx: y\r\n\r\nGET"))
    assert service.connections == 0


@pytest.mark.parametrize("url", ["http://127.0.0.1/", "http://inner.example/", "ftp://tools.example/", "http://tools.example:22/"])
async def test_an_address_is_checked_without_a_request(url: str) -> None:
    with pytest.raises(AddressRefused):
        await GuardedClient(Guard(), resolve=Names("10.0.0.1")).check(url)


async def test_public_allowed_and_unknown_names_pass_the_check() -> None:
    async def nothing(host: str, port: int) -> Sequence[ipaddress.IPv4Address]:
        raise OSError("unknown name")

    await GuardedClient(Guard(), resolve=Names("93.184.215.14")).check("https://tools.example/mcp")
    await GuardedClient(Guard(allow=("inner.example",)), resolve=Names("10.0.0.1")).check("http://inner.example/mcp")
    await GuardedClient(Guard(), resolve=nothing).check("https://not-yet.example/mcp")
