"""The frame around every page: rail, top bar, landmarks, keyboard and live regions.

    @ui.page("/tables/{name}")
    async def table(name: str) -> None:
        with frame(title=name, section="tables", crumbs=[Crumb("Tables", "/tables")]) as view:
            tag("p", "..."), Grid(...), ...

A page builds its content inside the frame; `view` has the caller and their permissions.

The entries of the navigation: the kit's sections, the installed applications, and the settings. Pure.

`Console`: state that all open pages of a host share.

Tabs of a page: each has an address, and is shown in place.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from nicegui import context, ui

from gateleg.host.principal import Role, is_tenant_admin
from gateleg.web.console.failures import describe_error, refusal
from gateleg.web.console.lists import address, is_late_response
from gateleg.web.console.markup import Tag, tag

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

    from fastapi import Request
    from nicegui.events import GenericEventArguments

    from gateleg.host.application import Application
    from gateleg.host.host import Host
    from gateleg.host.live import Hub
    from gateleg.host.principal import Principal

__all__ = ["Crumb", "View", "frame"]


_MARK = (
    '<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round" '
    'aria-hidden="true"><path d="M3 7.5h18"/><path d="M6 7.5v11M18 7.5v11"/><path d="M12 7.5 7.5 18.5M12 7.5l4.5 11" '
    'stroke="var(--running)"/></svg>'
)
#: The browser stores the state in a cookie before it notifies the host, so that the next page already has it.
_FOLD = """() => {
  const wanted = document.querySelector(".q-drawer--mini") ? "wide" : "icons";
  gateleg.keep("gateleg_rail", wanted);
  emit(wanted);
}"""
_THEMES = (("light", "Light", "light_mode"), ("dark", "Dark", "dark_mode"), ("auto", "As the system", "devices"))


@dataclass(frozen=True)
class View:
    """One open page: its caller, its request and the console it belongs to."""

    console: Console
    principal: Principal
    request: Request

    @property
    def host(self) -> Host:
        """The host: its store, objects, queue and applications."""
        return self.console.host

    @property
    def live(self) -> Hub:
        """The topics that pages follow."""
        return self.host.events

    @property
    def request_id(self) -> str | None:
        """The id of the request that opened the page, for the audit log."""
        return getattr(self.request.state, "request_id", None)

    def may(self, role: Role) -> bool:
        """Whether the caller has this role or a higher one. Pages hide the controls that the caller may not use."""
        return self.principal.may(role)

    def require(self, role: Role) -> None:
        """Raise `NotAllowed` unless the caller has this role. Hiding a button does not prevent a crafted request."""
        if not self.principal.may(role):
            raise refusal(role)


def current_view() -> View:
    """The view of the page that is being built. The host has already authenticated the caller."""
    request = context.client.request
    return View(request.app.state.console, request.state.principal, request)


@contextmanager
def frame(*, title: str, section: str, crumbs: Sequence[Crumb] = (), wide: bool = False, titled: bool = True) -> Iterator[View]:
    """Build a page inside the frame. `crumbs` lead to the page, whose own title comes last; `wide` is for grids and maps.

    With `titled=False` the page brings its own `h1`.
    """
    context.client.on_exception(_show_exception)
    with frame_without_notifications(title=title, section=section, crumbs=crumbs, wide=wide, titled=titled) as view:
        yield view


@contextmanager
def frame_without_notifications(
    *, title: str, section: str, crumbs: Sequence[Crumb] = (), wide: bool = False, titled: bool = True
) -> Iterator[View]:
    """The frame of a page that shows its only error itself."""
    view = current_view()
    ui.page_title(f"{title} · Gateleg")
    rail = _rail(view, section, collapsed=view.request.cookies.get("gateleg_rail") == "icons")
    _top_bar(view, title, crumbs, rail)
    with tag("div", classes="content wide" if wide else "content") as content:
        if titled:
            tag("h1", title)
        yield view
    ui.skip_link("Skip to the page", target=content)


def _show_exception(error: Exception) -> None:
    """Show a notification for an error that occurred after the page was built and that nothing else handled."""
    if is_late_response(error):
        return
    words = describe_error(error)
    ui.notification(f"{words.what} {words.fix}".strip(), icon="error", timeout=8, close_button="Close", position="bottom")


def _rail(view: View, section: str, *, collapsed: bool) -> ui.left_drawer:
    drawer = ui.left_drawer(top_corner=True, bottom_corner=True).props("width=232 mini-width=60 breakpoint=1023 no-swipe-open")
    if collapsed:
        drawer.props("mini")
    with drawer, tag("div", classes="rail"):
        with tag("a", classes="brand", href="/", aria_label="Gateleg, overview"):
            ui.html(_MARK, sanitize=False, tag="span").style("display:flex")
            tag("span", "Gateleg", "word")
        with tag("nav", aria_label="Main"):
            tenant_admin = is_tenant_admin(view.principal, view.host.settings.tenant_admin_group)
            for index, group in enumerate(groups(view.host.applications, member=not view.may(Role.VIEWER), tenant_admin=tenant_admin)):
                if index:
                    tag("hr", aria_hidden="true")
                for entry in group:
                    current = "page" if entry.section == section else None
                    with tag("a", classes="entry", href=entry.href, aria_current=current, title=entry.title):
                        ui.icon(entry.icon)
                        tag("span", entry.title, "word")
        with tag("div", classes="below only-desk"), tag("button", classes="entry", type="button", title="Collapse or widen") as fold:
            ui.icon("keyboard_double_arrow_right" if collapsed else "keyboard_double_arrow_left")
            tag("span", "Collapse", "word")
        fold.props["aria-label"] = "Collapse or widen the navigation"

        def folded(event: GenericEventArguments) -> None:
            drawer.props("mini") if event.args == "icons" else drawer.props(remove="mini")

        fold.on("click", folded, js_handler=_FOLD)
    return drawer


def _top_bar(view: View, title: str, crumbs: Sequence[Crumb], rail: ui.left_drawer) -> None:
    with ui.header(wrap=False).classes(replace="topbar"):
        with tag("button", classes="deed bare icon only-phone", type="button", aria_label="Open the navigation").on("click", rail.toggle):
            ui.icon("menu")
        with tag("nav", classes="crumbs", aria_label="Breadcrumbs"), tag("ol"):
            for crumb in crumbs:
                with tag("li"):
                    tag("a", crumb.title, href=crumb.href)
            with tag("li"):
                tag("span", title, aria_current="page")
        typed = view.request.query_params.get("q", "") if view.request.url.path == "/search" else ""
        _search_box(typed, "Search jobs, tables and pages" if view.may(Role.VIEWER) else "Search")
        with tag("span", classes="place", title=f"Where the data is: {view.host.environment}"):
            ui.icon("dns")
            tag("span", view.host.environment, "word clip")
        _theme_menu()
        _account_menu(view)


def _search_box(typed: str, label: str) -> None:
    """The search field. `static/search.js` shows suggestions while the user types."""
    with tag("form", classes="search", action="/search", method="get", role="search"):
        ui.icon("search")
        tag(
            "input",
            id="search",
            name="q",
            type="search",
            value=typed,
            placeholder="Search",
            role="combobox",
            aria_label=label,
            aria_autocomplete="list",
            aria_expanded="false",
            aria_controls="search-places",
            autocomplete="off",
        )
        tag("kbd", "/", aria_hidden="true")


def _theme_menu() -> None:
    with tag("button", classes="deed bare icon", type="button", aria_label="Theme", title="Theme", aria_haspopup="menu"):
        ui.icon("contrast")
        with ui.menu().props("auto-close"):
            for value, word, icon in _THEMES:
                with tag("button", classes="menu-item", type="button", role="menuitem").on(
                    "click", js_handler=f"() => gateleg.theme('{value}')"
                ):
                    ui.icon(icon)
                    tag("span", word)


def _account_menu(view: View) -> None:
    principal = view.principal
    with tag("button", classes="deed bare icon", type="button", aria_label="Account", title=principal.name, aria_haspopup="menu"):
        ui.icon("account_circle")
        with ui.menu():
            with tag("div", classes="menu-note"):
                tag("div", principal.name, "strong")
                tag("div", principal.role.word, "meta")
            if view.may(Role.VIEWER):
                with tag("a", classes="menu-item", href="/settings", role="menuitem"):
                    ui.icon("tune")
                    tag("span", "Settings")
            with tag("button", classes="menu-item", type="button", role="menuitem").on(
                "click", js_handler="() => document.getElementById('help').showModal()"
            ):
                ui.icon("keyboard")
                tag("span", "Keys")
            with tag("a", classes="menu-item", href="/sessions", role="menuitem"):
                ui.icon("devices")
                tag("span", "Your sessions")
            if principal.key_id is not None:
                with tag("a", classes="menu-item", href="/signout", role="menuitem"):
                    ui.icon("logout")
                    tag("span", "Sign out")


@dataclass(frozen=True)
class NavigationEntry:
    """An entry of the navigation. `section` is the value that its pages pass to `frame`."""

    section: str
    title: str
    icon: str
    href: str


@dataclass(frozen=True)
class Crumb:
    """A breadcrumb; the last one is the page itself and needs no address."""

    title: str
    href: str | None = None


KIT = (
    NavigationEntry("overview", "Overview", "space_dashboard", "/"),
    NavigationEntry("jobs", "Jobs", "checklist", "/jobs"),
    NavigationEntry("tables", "Tables", "table_chart", "/tables"),
    NavigationEntry("migrations", "Migrations", "moving", "/migrations"),
    NavigationEntry("objects", "Objects", "folder_open", "/objects"),
)
SETTINGS = NavigationEntry("settings", "Settings", "tune", "/settings")
TENANT = NavigationEntry("tenant", "Your tenant", "domain", "/tenant")


def groups(applications: Sequence[Application], *, member: bool = False, tenant_admin: bool = False) -> list[list[NavigationEntry]]:
    """The entries of the navigation, in groups. Members see only the applications, tenant admins also their tenant."""
    own = [NavigationEntry(one.name, one.title, one.icon, f"/{one.name}") for one in applications if one.pages is not None]
    tenant = [TENANT] if tenant_admin else []
    shown = [own, tenant] if member else [list(KIT), own, [*tenant, SETTINGS]]
    return [group for group in shown if group]


#: Keyboard shortcuts, as the help shows them.
KEYS = (
    ("/", "Search"),
    ("g h", "Overview"),
    ("g j", "Jobs"),
    ("g t", "Tables"),
    ("g m", "Migrations"),
    ("g o", "Objects"),
    ("g s", "Settings"),
    ("j  k", "Next and previous row"),
    ("enter", "Open the row"),
    ("x", "Select the row"),
    ("esc", "Leave a field or close a dialog"),
    ("?", "This help"),
)


@dataclass(frozen=True)
class Console:
    """The console of a host; pages find it as `request.app.state.console`."""

    host: Host


_CLICK = """(event) => {
  if (event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  gateleg.place(event.currentTarget.href);
  emit();
}"""


class Tabs:
    """Tabs by key and title: `build` is called with the key of the selected tab, at first and on every change.

    The address of a tab is that of the page with `tab=key`; the first tab needs none. The browser's back button shows the previous tab.
    `keep` is the rest of the query.
    """

    def __init__(
        self,
        tabs: Sequence[tuple[str, str]],
        current: str | None,
        build: Callable[[str], Awaitable[None] | None],
        *,
        keep: Mapping[str, str] | None = None,
    ) -> None:
        keys = [key for key, _ in tabs]
        self.current = current if current in keys else keys[0]
        self._build = build
        self._links: dict[str, Tag] = {}
        with tag("nav", classes="tabs", aria_label="Tabs"):
            for key, title in tabs:
                here = "page" if key == self.current else None
                link = self._links[key] = tag("a", title, href=address("", {**(keep or {}), "tab": key}), aria_current=here)
                link.on("click", partial(self.show, key), js_handler=_CLICK)
        self.panel = tag("div", classes="stack gap-2")

    async def start(self) -> None:
        """Build the first tab."""
        await self._fill()

    async def show(self, key: str) -> None:
        """Show another tab."""
        self._links[self.current].props.pop("aria-current", None)
        self._links[self.current].update()
        self.current = key
        self._links[key].props["aria-current"] = "page"
        self.panel.clear()
        await self._fill()

    async def _fill(self) -> None:
        with self.panel:
            built = self._build(self.current)
            if built is not None:
                await built
