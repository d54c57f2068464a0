"""Who is asking: credentials given by the caller, or found where botocore looks for them."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from gateleg.extras import install_hint

if TYPE_CHECKING:
    from collections.abc import Callable

#: Seconds for which credentials of the chain are used before it is asked again; they are renewed minutes before they expire.
_TRUSTED = 10.0


@dataclass(frozen=True, slots=True)
class Credentials:
    """An access key, with a session token where it is a temporary one."""

    key_id: str
    secret: str = field(repr=False)
    token: str | None = field(default=None, repr=False)


#: For endpoints that ask for a signature and do not look at it, as emulators do.
LOCAL_CREDENTIALS = Credentials("local", "local")


class NoCredentials(Exception):
    """No credentials were found, so that nothing could be sent."""


class Source(Protocol):
    """Gives credentials, and new ones when they expire."""

    def current(self) -> Credentials | None:
        """The credentials, if they can be had at once."""
        ...

    def load(self) -> Credentials:
        """The credentials, however long it takes to get them."""
        ...

    def expire(self) -> None:
        """The service calls the credentials expired: do not give the same ones without asking."""
        ...


@dataclass(frozen=True, slots=True)
class Fixed:
    """Credentials that do not change."""

    credentials: Credentials

    def current(self) -> Credentials:
        """The credentials."""
        return self.credentials

    def load(self) -> Credentials:
        """The credentials."""
        return self.credentials

    def expire(self) -> None:
        """There are no others."""


class Chain:
    """The credentials that botocore finds: environment, profile, single sign-on, assumed role, container, instance.

    `session` is a botocore session; without one, the session of `profile`. With `local`, the metadata service of cloud machines is not
    asked, and where there are no credentials `LOCAL_CREDENTIALS` is used.
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
        #: the credentials and until when they need no question; replaced as one
        self._held: tuple[Credentials, float] | None = None

    def current(self) -> Credentials | None:
        """The credentials, unless it is time to ask botocore for them."""
        held = self._held
        return held[0] if held is not None and self._ticks() < held[1] else None

    def load(self) -> Credentials:
        """Ask botocore, which renews them when they are about to expire. One thread asks, the others wait for it."""
        with self._lock:
            held = self._held
            if held is not None and self._ticks() < held[1]:
                return held[0]
            fresh = self._ask()
            # The same object as long as nothing changed: signers keep the day's key by it.
            credentials = held[0] if held is not None and held[0] == fresh else fresh
            self._held = (credentials, self._ticks() + _TRUSTED)
            return credentials

    def expire(self) -> None:
        """Look for credentials from the beginning at the next question."""
        with self._lock:
            self._held = None
            self._found = None

    def _ask(self) -> Credentials:
        if self._found is None:
            self._found = self._find()
        if self._found is None:
            if self._local:
                return LOCAL_CREDENTIALS
            raise NoCredentials("No credentials were given, and botocore's chain finds none: set a profile or AWS_ACCESS_KEY_ID.")
        frozen = self._found.get_frozen_credentials()
        return Credentials(frozen.access_key, frozen.secret_key, frozen.token or None)

    def _find(self) -> Any:
        try:
            session = self._session or _new_session(self._profile)
        except ImportError:
            found = _from_environment()
            if found is None and not self._local:
                raise NoCredentials(
                    f"AWS_ACCESS_KEY_ID is not set, and botocore, which looks elsewhere, is not installed. {install_hint('aws')}"
                ) from None
            return found
        resolver = session.get_component("credential_provider")
        if self._local:
            resolver.remove("iam-role")
        return resolver.load_credentials()


@dataclass(frozen=True, slots=True)
class _Environment:
    """The variables that every SDK reads, for when botocore is not installed."""

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
    """The region that botocore's configuration names, or `AWS_REGION`."""
    try:
        region: str | None = _new_session(profile).get_config_variable("region")
    except ImportError:
        region = os.environ.get("AWS_DEFAULT_REGION")
    return region or os.environ.get("AWS_REGION")
