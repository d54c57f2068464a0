"""Mount the console on a host's application."""

from __future__ import annotations

import hashlib
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import nicegui
from nicegui import ui
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware

from gateleg.web.console import error_pages, jobs, member_jobs, migrations, objects, overview, search, settings, tables, tenant
from gateleg.web.console.live import Live
from gateleg.web.console.loading import silence_late_responses
from gateleg.web.console.navigation import KEYS
from gateleg.web.console.page_ownership import PageOwnership, guard_sockets
from gateleg.web.console.site import Console
from gateleg.web.console.theme import tokens_css
from gateleg.web.console.unopened_pages import UnopenedPageLimit

if TYPE_CHECKING:
    from fastapi import FastAPI

    from gateleg.web.host import Host

_STATIC = Path(__file__).parent / "static"
#: Runs before the first paint, so that a dark page does not flash white.
_EARLY = "const m=document.cookie.match(/gateleg_theme=(light|dark)/);if(m)document.documentElement.dataset.theme=m[1];"
_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="#0072B2" stroke-width="2" stroke-linecap="round">'
    '<path d="M3 7h18M6 7v12M18 7v12M12 7 8 19M12 7l4 12"/></svg>'
)


def mount(app: FastAPI, host: Host) -> None:
    """Serve the console of a host at `/` of an application. A process has one console."""
    nicegui.app.state.console = Console(host, Live())
    guard_sockets()
    # Innermost middleware: by now the host has authenticated the caller.
    app.user_middleware.append(Middleware(PageOwnership))
    app.user_middleware.append(Middleware(UnopenedPageLimit))
    silence_late_responses()
    nicegui.app.add_static_files("/_console", _STATIC, max_cache_age=31_536_000)
    ui.add_head_html(_head(), shared=True)
    ui.add_body_html(_body(), shared=True)
    overview.register()
    jobs.register()
    tables.register()
    migrations.register()
    objects.register()
    settings.register()
    tenant.register()
    search.register()
    error_pages.register()
    for application in host.applications:
        with host.isolate_failure(application):
            if application.jobs is not None:
                member_jobs.register(application, host.resources[application.name])
            if application.pages is not None:
                application.pages(host.resources[application.name])
    ui.run_with(
        app,
        mount_path="/",
        title="Gateleg",
        favicon=_ICON,
        dark=None,
        language="en-US",
        tailwind=False,
        # The default, the highest level, takes three times as long to save two percent more.
        gzip_middleware_factory=lambda inner: GZipMiddleware(inner, compresslevel=4),
        binding_refresh_interval=None,
        reconnect_timeout=20.0,
        storage_secret=host.secret.sign("console", "storage"),
        show_welcome_message=False,
    )


def _head() -> str:
    return (
        f"<script>{_EARLY}</script><style>{tokens_css()}</style>"
        f'<link rel="stylesheet" href="{asset("console.css")}"><link rel="stylesheet" href="{asset("nicegui.css")}">'
        # In the head, so that they run before the framework's own scripts in the body.
        + "".join(f'<script defer src="{asset(name)}"></script>' for name in ("socket.js", "console.js", "search.js"))
    )


def asset(name: str) -> str:
    """The URL of a static file, with a digest of its content for cache busting."""
    digest = hashlib.sha256((_STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/_console/{name}?v={digest}"


def _body() -> str:
    keys = "".join(f"<dt>{_keys(combination)}</dt><dd>{escape(word)}</dd>" for combination, word in KEYS)
    return (
        f'<dialog id="help" class="help" aria-label="Keys"><h2>Keys</h2><dl>{keys}</dl></dialog>'
        '<div id="said" class="sr" role="status" aria-live="polite"></div>'
    )


def _keys(combination: str) -> str:
    return " ".join(f"<kbd>{escape(key)}</kbd>" for key in combination.split())
