"""Credentials: passed by the caller, or loaded from the places where botocore looks."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from gateleg.errors import GatelegError
from gateleg.extras import install_hint

if TYPE_CHECKING:
    from collections.abc import Callable

#: Seconds for which credentials are cached. botocore renews them minutes before they expire.
_CACHE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Credentials:
    """An access key, with a session token if it is temporary."""

    key_id: str
    secret: str = field(repr=False)
    token: str | None = field(default=None, repr=False)


#: For endpoints that require a signature but do not verify it, such as emulators.
LOCAL_CREDENTIALS = Credentials("local", "local")


class NoCredentials(GatelegError):
    """No credentials were found, so the request was not sent."""

    code = "no-credentials"
    fix = "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile."


class CredentialSource(Protocol):
    """Provides credentials, and renews them when they expire."""

    def current(self) -> Credentials | None:
        """The credentials, if they are available without blocking."""
        ...

    def load(self) -> Credentials:
        """Load the credentials, which may block. Raises `NoCredentials`."""
        ...

    def expire(self) -> None:
        """Discard cached credentials, because the service reported them as expired."""
        ...


@dataclass(frozen=True, slots=True)
class Fixed:
    """Credentials that do not change."""

    credentials: Credentials

    def current(self) -> Credentials:
        return self.credentials

    def load(self) -> Credentials:
        return self.credentials

    def expire(self) -> None:
        """Do nothing: the credentials cannot be renewed."""


class Chain:
    """The credentials from botocore's chain: environment, profile, single sign-on, assumed role, container, instance.

    `session` is a botocore session, by default one for `profile`. With `local`, the metadata service of cloud machines is not queried, and
    `LOCAL_CREDENTIALS` are used if no credentials are found.
    """

    def __init__(
        self, session: Any = None, *, profile: str | None = None, local: bool = False, ticks: Callable[[], float] = time.monotonic
    ) -> None:
        self._session = session
        self._profile = profile
        self._local = local
        self._ticks = ticks
        self._lock = threading.Lock()
        self._found: Any = None
        #: the cached credentials and the end of their validity; replaced atomically
        self._held: tuple[Credentials, float] | None = None

    def current(self) -> Credentials | None:
        """The cached credentials, or None if they must be loaded."""
        held = self._held
        return held[0] if held is not None and self._ticks() < held[1] else None

    def load(self) -> Credentials:
        """Load credentials from botocore, which renews them before they expire. One thread loads, others wait. Raises `NoCredentials`."""
        with self._lock:
            held = self._held
            if held is not None and self._ticks() < held[1]:
                return held[0]
            fresh = self._load_from_botocore()
            # Keep the same object if nothing changed, because signers cache keys by it.
            credentials = held[0] if held is not None and held[0] == fresh else fresh
            self._held = (credentials, self._ticks() + _CACHE_SECONDS)
            return credentials

    def expire(self) -> None:
        """Discard cached credentials, so that the next `load` searches the whole chain again."""
        with self._lock:
            self._held = None
            self._found = None

    def _load_from_botocore(self) -> Credentials:
        if self._found is None:
            self._found = self._find()
        if self._found is None:
            if self._local:
                return LOCAL_CREDENTIALS
            raise NoCredentials("No credentials were passed, and botocore's chain finds none.")
        frozen = self._found.get_frozen_credentials()
        return Credentials(frozen.access_key, frozen.secret_key, frozen.token or None)

    def _find(self) -> Any:
        try:
            session = self._session or _new_session(self._profile)
        except ImportError:
            found = _from_environment()
            if found is None and not self._local:
                raise NoCredentials(
                    "AWS_ACCESS_KEY_ID is not set, and botocore, which finds other credentials, is not installed.", fix=install_hint("aws")
                ) from None
            return found
        resolver = session.get_component("credential_provider")
        if self._local:
            resolver.remove("iam-role")
        return resolver.load_credentials()


@dataclass(frozen=True, slots=True)
class _Environment:
    """Credentials from environment variables, used if botocore is not installed."""

    access_key: str
    secret_key: str
    token: str | None

    def get_frozen_credentials(self) -> _Environment:
        return self


def _from_environment() -> _Environment | None:
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
    key_id, secret, token = (os.environ.get(name) for name in names)
    return _Environment(key_id, secret, token) if key_id and secret else None


def _new_session(profile: str | None) -> Any:
    import botocore.session

    return botocore.session.Session(profile=profile)


def region_of_chain(profile: str | None = None) -> str | None:
    """The region of botocore's configuration, or `AWS_REGION`."""
    try:
        region: str | None = _new_session(profile).get_config_variable("region")
    except ImportError:
        region = os.environ.get("AWS_DEFAULT_REGION")
    return region or os.environ.get("AWS_REGION")
