"""Sessions of browsers: started with a key, the local token or by a person's sign-in, kept in a cookie, stored as a digest only.

They end when their time is over, when they are revoked, and with what they were started with.
"""

from __future__ import annotations

import logging
import re
import secrets
from base64 import b64decode, b64encode
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from gateleg.host.credentials import CACHE_SECONDS, check_usable, digest_of, principal_of, token_from
from gateleg.host.errors import ApiKeyMissing, NotSignedIn, Unknown
from gateleg.host.principal import LOCAL, PERSON_PREFIX, Principal, Role
from gateleg.host.tables import Session, SessionEntry
from gateleg.net.tokens import DecryptionFailed, decrypt, encrypt
from gateleg.store import ConditionFailed, NotFound, Page, StoreError
from gateleg.store.operations import batch_get, create, delete

if TYPE_CHECKING:
    from datetime import datetime

    from gateleg.host.credentials import Keys
    from gateleg.host.openid import OpenIdSettings
    from gateleg.host.settings import Settings
    from gateleg.net import Secret
    from gateleg.store import AsyncStore

__all__ = ["COOKIE", "LiveSession", "NewSession", "Sessions"]

_log = logging.getLogger("gateleg.web")

COOKIE = "gateleg_session"
#: The prefix in place of a key id for sessions that were started with the host's token; its digest follows.
_LOCAL = "local:"
#: How often the last use of a session is recorded.
_USE_NOTED_EVERY = timedelta(minutes=1)
#: What starts sessions: a key, `local:` or `openid:` with a digest. The name of a session follows after a dot.
_KEY_ID = re.compile(r"[a-z0-9]+|[a-z]+:[0-9a-f]+")
_SESSION_ID = re.compile(rf"({_KEY_ID.pattern})\.([0-9a-f]+)")
_ID_TOKENS = "id tokens"
#: Longer ID tokens are not kept: the address at which the provider would get them could not be opened.
_MAX_ID_TOKEN = 6_000
_MAX_BROWSER = 300


@dataclass(frozen=True)
class NewSession:
    """A session that was just started. `cookie` is the value for the browser."""

    session: Session
    principal: Principal
    cookie: str = field(repr=False)


@dataclass(frozen=True)
class LiveSession:
    """A session that is valid, as the list of sessions shows it."""

    #: the id of the key or person that started it, and the name of its entry
    key_id: str
    name: str
    principal: Principal
    #: the browser, as it names itself
    browser: str
    created_at: datetime
    #: accurate to a minute
    seen_at: datetime
    ends_at: datetime
    digest: str = field(repr=False)

    @property
    def session_id(self) -> str:
        """By which it is revoked."""
        return f"{self.key_id}.{self.name}"


class Sessions:
    """The sessions of a host, in its store. `openid` are the settings under which people sign in, if they can."""

    def __init__(self, store: AsyncStore, keys: Keys, secret: Secret, settings: Settings, openid: OpenIdSettings | None = None) -> None:
        self._store = store
        self._keys = keys
        self._secret = secret
        self._openid = openid
        self._longest = timedelta(hours=settings.session_hours)
        self._idle = timedelta(minutes=settings.idle_minutes)
        self._local_id = _LOCAL + digest_of(token_from(secret))[:16]
        self._read: dict[str, tuple[float, Session | None]] = {}

    async def begin(self, token: str, *, browser: str = "") -> NewSession:
        """Sign in with a key."""
        principal = await self._keys.recognise(token)
        assert principal.key_id is not None
        return await self._begun(principal, principal.key_id, browser)

    async def begin_local(self, *, browser: str = "") -> NewSession:
        """Sign in with the host's token, which the caller has verified."""
        return await self._begun(LOCAL, self._local_id, browser)

    async def begin_person(self, principal: Principal, id_token: str = "", *, browser: str = "") -> NewSession:
        """Sign in a person whom the provider has authenticated."""
        assert principal.key_id is not None
        return await self._begun(principal, principal.key_id, browser, id_token)

    async def _begun(self, principal: Principal, key_id: str, browser: str, id_token: str = "") -> NewSession:
        now = self._store.setup.now()
        cookie, name = secrets.token_urlsafe(32), secrets.token_hex(8)
        digest, ends_at = digest_of(cookie), now + self._longest
        person = None
        if principal.is_person and self._openid is not None:
            ends_at = min(ends_at, now + timedelta(hours=self._openid.hours))
            person = {
                "name": principal.name,
                "role": principal.role.word,
                "groups": sorted(principal.groups),
                "tenant": principal.tenant,
                "settings": self._openid.fingerprint,
            }
        session = Session(
            digest=digest,
            key_id=key_id,
            name=name,
            person=person,
            id_token=self._sealed(digest, id_token),
            created_at=now,
            seen_at=now,
            ends_at=ends_at,
            expires_at=ends_at,
        )
        entry = SessionEntry(
            key_id=key_id,
            name=name,
            digest=digest,
            browser=browser[:_MAX_BROWSER],
            created_at=now,
            ends_at=ends_at,
            expires_at=ends_at,
        )
        await self._store.transact([create(session), create(entry)])
        return NewSession(session, principal, cookie)

    async def recognise(self, cookie: str) -> Principal:
        """The principal of a session cookie. Raises `NotSignedIn`, also if its key is no longer valid."""
        session = await self._found(digest_of(cookie))
        if session is None:
            raise _over()
        principal = await self._principal_of(session)
        await self._note_use(session)
        return principal

    async def _principal_of(self, session: Session) -> Principal:
        """The principal of a session. Raises `NotSignedIn` if the session, or what it was started with, is no longer valid."""
        now = self._store.setup.now()
        if session.ends_at <= now or now - session.seen_at > self._idle:
            raise _over()
        if session.key_id.startswith(_LOCAL):
            # The first key ends sessions that were started with the token, and so does a new secret.
            if session.key_id != self._local_id or await self._keys.exist():
                raise _over()
            return LOCAL
        if session.key_id.startswith(PERSON_PREFIX):
            return self._person_of(session)
        key = await self._keys.read(session.key_id)
        if key is None or (key.sessions_from is not None and session.created_at <= key.sessions_from):
            raise _over()
        check_usable(key, now)
        return principal_of(key)

    def _person_of(self, session: Session) -> Principal:
        """The person of a session, if the settings that decide who they are have not changed."""
        person = session.person or {}
        if self._openid is None or person.get("settings") != self._openid.fingerprint:
            raise _over()
        role, groups = Role[str(person["role"]).upper()], frozenset(map(str, person["groups"]))
        return Principal(str(person["name"]), role, groups, person.get("tenant"), session.key_id)

    async def end(self, cookie: str) -> None:
        """Sign out."""
        digest = digest_of(cookie)
        session = await self._store.find(Session, digest=digest, consistent=True)
        if session is not None:
            await self._delete(session.key_id, session.name, digest)

    async def page(self, *, key_id: str | None = None, limit: int = 50, cursor: str | None = None) -> Page[LiveSession]:
        """A page of the valid sessions, of one key or person or of all. A page may have fewer than `limit` although others follow."""
        question = SessionEntry.every() if key_id is None else SessionEntry.of_key(key_id=key_id)
        entries = await self._store.page(question, limit=limit, cursor=cursor)
        sessions = await self._store.run(batch_get([Session.key(digest=entry.digest) for entry in entries]))
        live = [await self._live(entry, session) for entry, session in zip(entries, sessions, strict=True)]
        return Page([session for session in live if session is not None], entries.next)

    async def _live(self, entry: SessionEntry, session: Session | None) -> LiveSession | None:
        if session is None:
            return None
        try:
            principal = await self._principal_of(session)
        except NotSignedIn:
            return None
        return LiveSession(
            entry.key_id, entry.name, principal, entry.browser, session.created_at, session.seen_at, session.ends_at, entry.digest
        )

    def own_key_id(self, principal: Principal) -> str:
        """What the sessions of a caller are listed under."""
        return self._local_id if principal.key_id is None else principal.key_id

    async def get(self, session_id: str) -> LiveSession:
        """A valid session by its id. Raises `Unknown`."""
        match = _SESSION_ID.fullmatch(session_id)
        entry = None if match is None else await self._store.find(SessionEntry, key_id=match[1], name=match[2], consistent=True)
        session = None if entry is None else await self._store.find(Session, digest=entry.digest, consistent=True)
        live = None if entry is None else await self._live(entry, session)
        if live is None:
            raise Unknown(f"There is no session {session_id[:200]!r}, or it is over.", fix="List the sessions to find the id.")
        return live

    async def revoke(self, session_id: str) -> LiveSession:
        """End a session. Hosts refuse it within a second. Raises `Unknown`."""
        live = await self.get(session_id)
        await self._delete(live.key_id, live.name, live.digest)
        return live

    async def revoke_all(self, key_id: str) -> int:
        """End all sessions of a key or person, and return how many of them the list had."""
        if not _KEY_ID.fullmatch(key_id):
            return 0
        if ":" not in key_id:
            # Sessions of earlier releases are not in the list.
            with suppress(ApiKeyMissing):
                await self._keys.end_sessions(key_id)
        entries = [entry async for entry in self._store.query(SessionEntry.of_key(key_id=key_id))]
        for entry in entries:
            await self._delete(entry.key_id, entry.name, entry.digest)
        return len(entries)

    async def _delete(self, key_id: str, name: str | None, digest: str) -> None:
        entries = [] if name is None else [delete(SessionEntry.key(key_id=key_id, name=name))]
        await self._store.transact([delete(Session.key(digest=digest)), *entries])
        self._read.pop(digest, None)

    async def id_token(self, cookie: str) -> str | None:
        """The ID token with which a person started a session; None for other sessions, and if it was too long to be kept."""
        session = await self._found(digest_of(cookie))
        if session is None or session.id_token is None:
            return None
        try:
            return decrypt(self._secret.key(_ID_TOKENS), b64decode(session.id_token), session.digest.encode()).decode()
        except (DecryptionFailed, ValueError):
            return None

    def _sealed(self, digest: str, id_token: str) -> str | None:
        if not 0 < len(id_token) <= _MAX_ID_TOKEN:
            return None
        return b64encode(encrypt(self._secret.key(_ID_TOKENS), id_token.encode(), digest.encode())).decode()

    def csrf_token(self, cookie: str) -> str:
        """The token that pages of the host send with a write, and pages of other sites cannot know."""
        return self._secret.sign("csrf", digest_of(cookie))

    def csrf_fits(self, cookie: str, token: str) -> bool:
        """Whether a CSRF token belongs to a session."""
        return self._secret.verify("csrf", digest_of(cookie), token)

    def is_current(self, session: LiveSession, cookie: str | None) -> bool:
        """Whether a session is that of a cookie."""
        return cookie is not None and session.digest == digest_of(cookie)

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
        if now - session.seen_at < min(_USE_NOTED_EVERY, self._idle / 2):
            return
        try:
            changed = await self._store.patch(Session.key(digest=session.digest), Session.seen_at.set(now))
        except (ConditionFailed, NotFound):
            return
        except StoreError as error:
            # A store that accepts no writes, because the disk is full, can still be read.
            _log.warning("could not record the use of a session: %s", error)
            return
        self._read[session.digest] = (self._store.setup.ticks(), changed)


def _over() -> NotSignedIn:
    return NotSignedIn("The session has expired.", fix="Sign in again.")
