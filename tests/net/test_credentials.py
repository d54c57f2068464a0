import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from gateleg.net import LOCAL_CREDENTIALS, Chain, Credentials, NoCredentials, region_of_chain


@pytest.fixture(autouse=True)
def _no_settings_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


class Frozen(NamedTuple):
    access_key: str
    secret_key: str
    token: str | None


class Session:
    """The part of a botocore session that the chain uses."""

    def __init__(self) -> None:
        self.asked = 0
        self.found = 0
        self.key = "first"
        self.lock = threading.Lock()

    def get_component(self, name: str) -> "Session":
        assert name == "credential_provider"
        return self

    def load_credentials(self) -> "Session":
        self.found += 1
        return self

    def get_frozen_credentials(self) -> Frozen:
        with self.lock:
            self.asked += 1
        return Frozen(self.key, "secret", None)


def test_secrets_are_not_printed() -> None:
    assert repr(Credentials("id", "hidden", "hidden")) == "Credentials(key_id='id')"


def test_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")
    assert Chain().load() == Credentials("id", "secret", "token")


def test_a_profile_is_used(tmp_path: Path) -> None:
    (tmp_path / "credentials").write_text("[other]\naws_access_key_id = id\naws_secret_access_key = secret\n")
    (tmp_path / "config").write_text("[profile other]\nregion = eu-west-3\n")
    assert Chain(profile="other").load() == Credentials("id", "secret")
    assert region_of_chain("other") == "eu-west-3"


def test_missing_credentials_are_a_clear_error() -> None:
    with pytest.raises(NoCredentials, match="botocore's chain finds none"):
        Chain().load()


def test_a_custom_endpoint_needs_no_credentials() -> None:
    assert Chain(local=True).load() == LOCAL_CREDENTIALS


def test_without_botocore_the_environment_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(profile: str | None) -> Any:
        raise ImportError("botocore")

    monkeypatch.setattr("gateleg.net.aws._new_session", missing)
    assert Chain(local=True).load() == LOCAL_CREDENTIALS
    with pytest.raises(NoCredentials, match=r"pip install '\.\[aws\]'"):
        Chain().load()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-2")
    assert Chain(local=True).load() == Credentials("id", "secret")
    assert region_of_chain() == "eu-west-2"


def test_the_region_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert region_of_chain() is None
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    assert region_of_chain() == "eu-west-1"


def test_credentials_are_cached() -> None:
    session, now = Session(), 0.0
    chain = Chain(session, ticks=lambda: now)
    assert chain.current() is None
    first = chain.load()
    now = 9.0
    assert chain.current() is first
    now = 11.0
    assert chain.current() is None
    assert chain.load() is first
    assert (session.asked, session.found) == (2, 1)


def test_new_credentials_are_taken_over() -> None:
    session, now = Session(), 0.0
    chain = Chain(session, ticks=lambda: now)
    chain.load()
    session.key = "second"
    now = 11.0
    assert chain.load() == Credentials("second", "secret")


def test_expired_credentials_are_searched_again() -> None:
    session = Session()
    chain = Chain(session)
    chain.load()
    chain.expire()
    assert chain.current() is None
    chain.load()
    assert session.found == 2


def test_one_thread_loads_for_all() -> None:
    session = Session()
    chain = Chain(session)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: chain.load(), range(8)))
    assert session.asked == 1
    assert all(one is found[0] for one in found)
