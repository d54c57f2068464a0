import pytest

from gateleg.net import Address, amazon, is_loopback


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
