"""Sessions of the console: started with a key or the local token, kept in a cookie, stored as a digest only."""

from __future__ import annotations

import logging
import secrets
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from gateleg.store import ConditionFailed, StoreError
from gateleg.web.errors import NotSignedIn
from gateleg.web.keys import CACHE_SECONDS, check_usable, digest_of, principal_of
from gateleg.web.local_access import token_from
from gateleg.web.principal import LOCAL
from gateleg.web.tables import Session

if TYPE_CHECKING:
    from gateleg.net import Secret
    from gateleg.store import AsyncStore
    from gateleg.web.keys import Keys
    from gateleg.web.principal import Principal
    from gateleg.web.settings import Settings

COOKIE = "gateleg_session"
#: The prefix in place of a key id for sessions that were started with the host's token; its digest follows.
_LOCAL = "local:"
_log = logging.getLogger("gateleg.web")
#: How often the last use of a session is recorded.
_NOTE_EVERY = timedelta(minutes=1)


@dataclass(frozen=True)
class NewSession:
    """A session that was just started. `cookie` is the value for the browser."""

    session: Session
    principal: Principal
    cookie: str = field(repr=False)


class Sessions:
    """The sessions of a host, in its store."""

    def __init__(self, store: AsyncStore, keys: Keys, secret: Secret, settings: Settings) -> None:
        self._store = store
        self._keys = keys
        self._secret = secret
        self._longest = timedelta(hours=settings.session_hours)
        self._idle = timedelta(minutes=settings.idle_minutes)
        self._local_id = _LOCAL + digest_of(token_from(secret))[:16]
        self._read: dict[str, tuple[float, Session | None]] = {}

    async def begin(self, token: str) -> NewSession:
        """Sign in with a key."""
        principal = await self._keys.recognise(token)
        assert principal.key_id is not None
        return await self._begun(principal, principal.key_id)

    async def begin_local(self) -> NewSession:
        """Sign in with the host's token, which the caller has verified."""
        return await self._begun(LOCAL, self._local_id)

    async def _begun(self, principal: Principal, key_id: str) -> NewSession:
        now = self._store.setup.now()
        cookie = secrets.token_urlsafe(32)
        session = Session(
            digest=digest_of(cookie),
            key_id=key_id,
            created_at=now,
            seen_at=now,
            ends_at=now + self._longest,
            expires_at=now + self._longest,
        )
        return NewSession(await self._store.create(session), principal, cookie)

    async def recognise(self, cookie: str) -> Principal:
        """The principal of a session cookie. Raises `NotSignedIn`, also if its key is no longer valid."""
        session = await self._found(digest_of(cookie))
        now = self._store.setup.now()
        if session is None or session.ends_at <= now or now - session.seen_at > self._idle:
            raise NotSignedIn("The session has expired.", fix="Sign in again.")
        if session.key_id.startswith(_LOCAL):
            return await self._recognise_local(session)
        key = await self._keys.read(session.key_id)
        if key is None or (key.sessions_from is not None and session.created_at <= key.sessions_from):
            raise NotSignedIn("The session has expired.", fix="Sign in again.")
        check_usable(key, now)
        await self._note_use(session)
        return principal_of(key)

    async def _recognise_local(self, session: Session) -> Principal:
        """The principal of a session that was started with the token. The first key ends such sessions, and so does a new secret."""
        if session.key_id != self._local_id or await self._keys.exist():
            raise NotSignedIn("The session has expired.", fix="Sign in again.")
        await self._note_use(session)
        return LOCAL

    async def end(self, cookie: str) -> None:
        """Sign out."""
        digest = digest_of(cookie)
        await self._store.delete(Session.key(digest=digest))
        self._read.pop(digest, None)

    def csrf_token(self, cookie: str) -> str:
        """The token that pages of the host send with a write, and pages of other sites cannot know."""
        return self._secret.sign("csrf", digest_of(cookie))

    def csrf_fits(self, cookie: str, token: str) -> bool:
        """Whether a CSRF token belongs to a session."""
        return self._secret.verify("csrf", digest_of(cookie), token)

    async def _found(self, digest: str) -> Session | None:
        ticks = self._store.setup.ticks()
        known = self._read.get(digest)
        if known is not None and ticks - known[0] < CACHE_SECONDS:
            return known[1]
        if len(self._read) > 10_000:
            self._read.clear()
        session = await self._store.find(Session, digest=digest, consistent=True)
        self._read[digest] = (ticks, session)
        return session

    async def _note_use(self, session: Session) -> None:
        now = self._store.setup.now()
        if now - session.seen_at < min(_NOTE_EVERY, self._idle / 2):
            return
        try:
            changed = await self._store.patch(Session.key(digest=session.digest), Session.seen_at.set(now))
        except ConditionFailed:
            return
        except StoreError as error:
            # A store that accepts no writes, because the disk is full, can still be read.
            _log.warning("could not record the use of a session: %s", error)
            return
        self._read[session.digest] = (self._store.setup.ticks(), changed)
