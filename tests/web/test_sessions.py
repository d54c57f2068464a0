from datetime import timedelta

import pytest

from gateleg.host.errors import KeyRefused, KeyRevoked, NotSignedIn, Unknown
from gateleg.host.host import Host
from gateleg.host.principal import Role
from gateleg.host.sessions import NewSession
from gateleg.host.tables import Session, SessionEntry
from gateleg.jobs import ManualClock


async def begun(host: Host) -> NewSession:
    return await host.sessions.begin((await host.keys.create("ann", Role.OPERATOR, tenant="acme")).token)


async def test_a_session_stands_for_its_key(host: Host) -> None:
    session = await begun(host)
    assert (await host.sessions.recognise(session.cookie)) == session.principal
    assert session.cookie not in repr(session)
    assert session.cookie != session.session.digest


async def test_only_a_good_key_begins_a_session(host: Host) -> None:
    with pytest.raises(KeyRefused):
        await host.sessions.begin("gl_aaaaaaaaaaaa_" + "a" * 43)


@pytest.mark.parametrize("cookie", ["", "x", "a" * 43])
async def test_a_cookie_that_holds_no_session_is_refused(host: Host, cookie: str) -> None:
    with pytest.raises(NotSignedIn):
        await host.sessions.recognise(cookie)


async def test_a_session_ends_when_it_is_not_used(host: Host, clock: ManualClock) -> None:
    session = await begun(host)
    for _ in range(3):
        clock.advance(minutes=host.settings.idle_minutes - 1)
        await host.sessions.recognise(session.cookie)
    clock.advance(minutes=host.settings.idle_minutes + 1)
    with pytest.raises(NotSignedIn):
        await host.sessions.recognise(session.cookie)


async def test_a_session_ends_in_any_case(host: Host, clock: ManualClock) -> None:
    session = await begun(host)
    end = clock.now + timedelta(hours=host.settings.session_hours)
    while clock.now + timedelta(hours=6) < end:
        clock.advance(hours=6)
        await host.sessions.recognise(session.cookie)
    clock.advance(hours=6)
    with pytest.raises(NotSignedIn):
        await host.sessions.recognise(session.cookie)


async def test_signing_out_ends_one_session_and_everywhere_all_of_a_key(host: Host, clock: ManualClock) -> None:
    made = await host.keys.create("ann", Role.OPERATOR)
    first, second, third = [await host.sessions.begin(made.token) for _ in range(3)]
    await host.sessions.end(first.cookie)
    with pytest.raises(NotSignedIn):
        await host.sessions.recognise(first.cookie)
    await host.sessions.recognise(second.cookie)
    await host.keys.end_sessions(made.key.key_id)
    for session in (second, third):
        with pytest.raises(NotSignedIn):
            await host.sessions.recognise(session.cookie)
    clock.advance(1)
    later = await host.sessions.begin(made.token)
    await host.sessions.recognise(later.cookie)


async def test_a_session_ends_with_its_key(host: Host) -> None:
    session = await begun(host)
    await host.keys.revoke(session.session.key_id)
    with pytest.raises(KeyRevoked):
        await host.sessions.recognise(session.cookie)


async def test_a_token_for_writes_fits_its_own_session_only(host: Host) -> None:
    first, second = await begun(host), await begun(host)
    assert host.sessions.csrf_fits(first.cookie, host.sessions.csrf_token(first.cookie))
    assert not host.sessions.csrf_fits(second.cookie, host.sessions.csrf_token(first.cookie))
    assert not host.sessions.csrf_fits(first.cookie, "")


async def test_the_list_has_those_that_are_valid(host: Host, clock: ManualClock) -> None:
    keys = [await host.keys.create(name, Role.OPERATOR) for name in ("ann", "bob", "eve")]
    begun = [await host.sessions.begin(key.token, browser="Lynx") for key in keys for _ in range(2)]
    await host.sessions.end(begun[0].cookie)
    await host.keys.revoke(keys[1].key.key_id)
    live = (await host.sessions.page()).items
    assert sorted((one.principal.name, one.browser) for one in live) == [("ann", "Lynx"), ("eve", "Lynx"), ("eve", "Lynx")]
    assert [one.principal.name for one in await host.sessions.page(key_id=keys[0].key.key_id)] == ["ann"]
    assert all(one.digest not in repr(one) for one in live)
    clock.advance(minutes=host.settings.idle_minutes + 1)
    assert not (await host.sessions.page()).items


async def test_the_list_is_read_page_by_page(host: Host) -> None:
    key = await host.keys.create("ann", Role.OPERATOR)
    for _ in range(5):
        await host.sessions.begin(key.token)
    found, cursor = [], None
    while True:
        page = await host.sessions.page(limit=2, cursor=cursor)
        found += [live.session_id for live in page]
        cursor = page.next
        if cursor is None:
            break
    assert len(set(found)) == len(found) == 5


async def test_a_session_is_revoked_by_its_id_everywhere(host: Host, clock: ManualClock) -> None:
    first, second = await begun(host), await begun(host)
    await host.sessions.recognise(first.cookie)
    (live,) = await host.sessions.page(key_id=first.principal.key_id)
    assert (await host.sessions.revoke(live.session_id)).principal == first.principal
    with pytest.raises(NotSignedIn):
        await host.sessions.recognise(first.cookie)
    await host.sessions.recognise(second.cookie)
    for missing in (live.session_id, "", ".", "a", "a.b", "SESSIONS#.x"):
        with pytest.raises(Unknown):
            await host.sessions.revoke(missing)


async def test_all_sessions_of_a_key_end_with_those_that_are_in_no_list(host: Host) -> None:
    session = await begun(host)
    assert session.session.name is not None
    assert session.principal.key_id is not None
    # As an earlier release left it.
    await host.store.delete(SessionEntry, key_id=session.principal.key_id, name=session.session.name)
    await host.store.patch(Session.key(digest=session.session.digest), Session.name.remove())
    assert await host.sessions.revoke_all(session.principal.key_id) == 0
    with pytest.raises(NotSignedIn):
        await host.sessions.recognise(session.cookie)
    await host.sessions.end(session.cookie)
    for nothing in ("nothing", "", "SESSIONS#"):
        assert await host.sessions.revoke_all(nothing) == 0
