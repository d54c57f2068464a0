"""Addresses of services, and the guard: which user-supplied addresses a host may connect to."""

import ipaddress

import pytest

from gateleg.net import Address, Guard, amazon, is_loopback, is_public
from gateleg.net.errors import AddressRefused

PRIVATE = [
    "0.0.0.0",
    "10.0.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "127.255.0.9",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.168.1.1",
    "198.18.0.1",
    "203.0.113.9",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::8.8.8.8",
    "2001::1",
    "2002:7f00:1::1",
    "2001:db8::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "ff02::1",
    "100::1",
]
PUBLIC = ["8.8.8.8", "1.1.1.1", "172.32.0.1", "2606:4700:4700::1111", "64:ff9b::808:808"]


@pytest.mark.parametrize("text", PRIVATE)
def test_private_addresses_are_refused_whether_written_or_resolved(text: str) -> None:
    found = ipaddress.ip_address(text)
    host = f"[{text}]" if ":" in text else text
    with pytest.raises(AddressRefused):
        Guard().check_url(f"http://{host}/")
    with pytest.raises(AddressRefused, match="not public"):
        Guard().check_address(Address("innocent.example", 80, secure=False), found)


@pytest.mark.parametrize("text", PUBLIC)
def test_public_addresses_are_allowed(text: str) -> None:
    assert is_public(ipaddress.ip_address(text))
    host = f"[{text}]" if ":" in text else text
    assert Guard().check_url(f"https://{host}/x").port == 443


@pytest.mark.parametrize(
    "url",
    [
        "http://2130706433/",
        "http://0177.0.0.1/",
        "http://0x7f.0.0.1/",
        "http://0x7f000001/",
        "http://127.1/",
        "http://127.0.0.1./",
        "http://017700000001/",
        "http://[::1%25eth0]/",
        "http://[::1%eth0]/",
        "file:///etc/passwd",
        "gopher://example.com/",
        "ftp://example.com/",
        "http://user:word@example.com/",
        "http://example.com@127.0.0.1/",
        "http://exam\tple.com/",
        "http://example.com/a b",
        "http://example.com\\@127.0.0.1/",
        "http://１２７.0.0.1/",
        "http:///path",
        "http://[::1",
        "http://example.com:0x50/",
        "http://example.com:99999/",
        "//example.com/",
        "",
    ],
)
def test_urls_in_other_forms_are_refused(url: str) -> None:
    with pytest.raises(AddressRefused):
        Guard().check_url(url)


@pytest.mark.parametrize(("port", "fine"), [(80, True), (443, True), (8080, True), (22, False), (25, False), (6379, False), (9200, False)])
def test_ports_are_bounded(port: int, fine: bool) -> None:
    if fine:
        assert Guard().check_url(f"http://example.com:{port}/").port == port
    else:
        with pytest.raises(AddressRefused, match="80, 443"):
            Guard().check_url(f"http://example.com:{port}/")


@pytest.mark.parametrize(
    ("entry", "url", "resolved", "fine"),
    [
        ("127.0.0.1", "http://127.0.0.1:9000/", None, True),
        ("127.0.0.1:9000", "http://127.0.0.1:9000/", None, True),
        ("127.0.0.1:9000", "http://127.0.0.1:9001/", None, False),
        ("10.0.0.0/8", "http://10.2.3.4/", None, True),
        ("10.0.0.0/8", "http://11.2.3.4:22/", None, False),
        ("10.0.0.0/8", "http://inner.example/", "10.9.9.9", True),
        ("10.0.0.0/8", "http://inner.example/", "192.168.0.1", False),
        ("hooks.internal", "http://hooks.internal:3000/", "192.168.0.1", True),
        ("hooks.internal", "http://HOOKS.internal./", "192.168.0.1", True),
        ("hooks.internal:80", "http://hooks.internal:3000/", "192.168.0.1", False),
        ("hooks.internal", "http://xhooks.internal/", "192.168.0.1", False),
        ("*.corp.example", "http://a.b.corp.example/", "10.0.0.1", True),
        ("*.corp.example", "http://corp.example/", "10.0.0.1", False),
        ("[fd00::/8]:8000", "http://[fd00::1]:8000/", None, True),
        ("::1", "http://[::1]:1234/", None, True),
        ("127.0.0.0/8", "http://[::ffff:127.0.0.1]:7000/", None, True),
    ],
)
def test_addresses_allowed_by_settings_are_accepted_and_no_others(entry: str, url: str, resolved: str | None, fine: bool) -> None:
    guard = Guard(allow=(entry,))

    def ask() -> None:
        address = guard.check_url(url)
        if resolved is not None:
            guard.check_address(address, ipaddress.ip_address(resolved))

    if fine:
        ask()
    else:
        with pytest.raises(AddressRefused):
            ask()


@pytest.mark.parametrize("entry", ["", "a b", "http://x", "0177.0.0.1", "host:port"])
def test_invalid_entries_are_refused_at_once(entry: str) -> None:
    with pytest.raises(ValueError, match="is not a host"):
        Guard(allow=(entry,))


def test_the_error_does_not_reveal_the_internal_address() -> None:
    with pytest.raises(AddressRefused) as refused:
        Guard().check_address(Address("db.example", 80, secure=False), ipaddress.ip_address("10.20.30.40"))
    assert "10.20" not in str(refused.value)
    assert "outgoing_allow" in str(refused.value)


@pytest.mark.parametrize(
    ("url", "address", "authority"),
    [
        ("http://localhost:8000", Address("localhost", 8000, secure=False), "localhost:8000"),
        ("https://db.example", Address("db.example", 443, secure=True), "db.example"),
        ("https://db.example:443/", Address("db.example", 443, secure=True), "db.example"),
        ("http://[::1]:8000/dynamodb", Address("::1", 8000, secure=False, path="/dynamodb"), "[::1]:8000"),
    ],
)
def test_a_url_names_an_address(url: str, address: Address, authority: str) -> None:
    assert Address.parse(url) == address
    assert address.authority == authority
    assert Address.parse(address.url) == address


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://host", "http://", "http://host/?a=b", "http://me:secret@host", ""])
def test_invalid_endpoint_urls_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match="is not an endpoint"):
        Address.parse(url)


@pytest.mark.parametrize(
    ("region", "host"),
    [
        ("eu-west-1", "dynamodb.eu-west-1.amazonaws.com"),
        ("us-gov-west-1", "dynamodb.us-gov-west-1.amazonaws.com"),
        ("cn-north-1", "dynamodb.cn-north-1.amazonaws.com.cn"),
        ("us-iso-east-1", "dynamodb.us-iso-east-1.c2s.ic.gov"),
        ("us-isob-east-1", "dynamodb.us-isob-east-1.sc2s.sgov.gov"),
    ],
)
def test_amazon_has_a_host_in_each_region(region: str, host: str) -> None:
    assert amazon(region) == Address(host, 443, secure=True)


def test_streams_have_a_separate_host() -> None:
    assert amazon("eu-west-1", "streams.dynamodb").host == "streams.dynamodb.eu-west-1.amazonaws.com"


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "127.9.9.9", "::1", "[::1]", "app.localhost", "LOCALHOST"])
def test_names_of_this_machine(name: str) -> None:
    assert is_loopback(name)


@pytest.mark.parametrize("name", ["", "evil.example", "localhost.evil.example", "10.0.0.1", "0.0.0.0", "127.0.0.1.evil.example", "::"])
def test_names_of_other_machines(name: str) -> None:
    assert not is_loopback(name)
