from gateleg.host import Application
from gateleg.web.console.frame import KEYS, groups


def application(name: str, *, pages: bool = True) -> Application:
    return Application(name=name, title=name.title(), icon="star", pages=(lambda host: None) if pages else None)


def test_the_rail_shows_the_kit_then_applications_then_settings() -> None:
    titles = [[entry.title for entry in group] for group in groups([application("maps"), application("films")])]
    assert titles == [["Overview", "Jobs", "Tables", "Migrations", "Objects"], ["Maps", "Films"], ["Settings"]]


def test_an_application_without_pages_is_not_in_the_rail() -> None:
    assert len(groups([application("maps", pages=False)])) == 2


def test_no_two_keys_are_the_same() -> None:
    assert len({keys for keys, _ in KEYS}) == len(KEYS)


def test_a_tenant_admin_has_the_tenant_beside_the_applications() -> None:
    member = groups([application("maps")], member=True, tenant_admin=True)
    assert [[entry.href for entry in group] for group in member] == [["/maps"], ["/tenant"]]
    viewer = groups([application("maps")], tenant_admin=True)
    assert [entry.href for entry in viewer[-1]] == ["/tenant", "/settings"]
