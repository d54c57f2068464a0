from datetime import timedelta

import pytest

from gateleg.host.errors import KeyRefused, KeyRevoked, NotSignedIn
from gateleg.host.host import Host
from gateleg.host.principal import Role
from gateleg.host.sessions import NewSession
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
