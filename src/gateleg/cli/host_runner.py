"""Shared by `up` and `serve`: running a host until a signal, and explaining failures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import typer

from gateleg.commands.opening import explaining_bad_settings
from gateleg.commands.printing import FAILED, fail
from gateleg.event_loops import new_event_loop

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from gateleg.host import Application
    from gateleg.host.host import Host
    from gateleg.host.settings import Settings

    Beside = Callable[[asyncio.Event], AbstractAsyncContextManager[object]]

#: Seconds for a host to close its resources, after its requests and its worker have finished.
_LAST_STEPS = 2.0


def announce_link(link: str | None) -> None:
    """Print the link that signs a browser in, while there is no key."""
    if link is not None:
        typer.echo(f"  Open {link}")
        typer.echo("  There is no key yet: the link signs you in as admin, on this machine only. Keep it to yourself.")


def run_host(
    settings: Settings,
    applications: list[Application],
    ready: Callable[[str, str | None], None],
    *,
    prepared: Callable[[Host], Any] | None = None,
    beside: Beside | None = None,
    drain: float | None = None,
    when_silent: Callable[[], None] | None = None,
) -> None:
    """Open a host and serve it until SIGINT or SIGTERM. `prepared` is awaited before it listens, `beside` is entered while it runs.

    `ready` is called with the address and, while no key exists, the link that signs a browser in. `beside` gets the event that is set
    at shutdown; jobs then have `drain` seconds to end, and the process ends a few seconds later. `when_silent` is called instead of the
    end of the process if the watchdog finds that the event loop does not answer.
    """
    import asyncio

    from gateleg.commands.opening import require_packages
    from gateleg.host.logs import set_up_logs

    require_packages("web", "fastapi", "uvicorn", *(["nicegui"] if settings.console else []))
    set_up_logs(settings)
    try:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.run(_run(settings, applications, ready, prepared, beside, drain, when_silent))
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    except Exception as error:
        explain(error, settings)


def explain(error: Exception, settings: Settings) -> NoReturn:
    """Explain an expected error; anything else is a bug of Gateleg and keeps its traceback."""
    from gateleg.host import Refusal
    from gateleg.host.settings import BadSettings
    from gateleg.model import ModelError
    from gateleg.objects import ObjectsError
    from gateleg.store import StoreError

    if isinstance(error, BadSettings):
        with explaining_bad_settings():
            raise error
    if isinstance(error, Refusal | StoreError | ObjectsError | ModelError):
        fail(str(error), FAILED)
    if isinstance(error, OSError):
        place = getattr(error, "filename", None) or settings.data
        fail(f"cannot use {place}: {error.strerror or error}", FAILED)
    if type(error).__name__ == "EngineError":
        fail(f"cannot use {settings.store}: {error}", FAILED)
    raise error


async def _run(
    settings: Settings,
    applications: list[Application],
    ready: Callable[[str, str | None], None],
    prepared: Callable[[Host], Any] | None,
    beside: Beside | None,
    drain: float | None,
    when_silent: Callable[[], None] | None,
) -> None:
    import asyncio
    import contextlib

    from gateleg.cli.shutdown import open_when_available, stopping_on_signals, watching
    from gateleg.host.host import Host
    from gateleg.jobs.worker import DRAIN_GRACE
    from gateleg.web.server import address_of, check_reach, listen, serve

    stop = asyncio.Event()
    words = "requests have up to 10 s to finish" if drain is None else f"jobs have up to {drain:g} s to finish, requests 10 s"
    with stopping_on_signals(stop, (drain or 0.0) + DRAIN_GRACE + _LAST_STEPS, words):
        async with open_when_available(lambda: Host.open(settings, applications, tolerant=True), settings, stop) as host:
            if host is None:
                return
            await check_reach(host)
            listener = listen(settings)
            try:
                async with beside(stop) if beside is not None else contextlib.nullcontext():
                    if prepared is not None:
                        await prepared(host)
                    # The largest part of what is loaded, and useless to a host that cannot start.
                    from gateleg.web.app import create_app

                    app = create_app(host)
                    address = address_of(listener, settings)
                    # A proxy's address would not work: the token is accepted on this machine only.
                    here = address_of(listener, settings.model_copy(update={"url": None}))
                    link = None if await host.keys.exist() else host.local.link(here)
                    requests = app.state.traffic.requests_under_way
                    with watching(settings.watchdog_seconds, lambda: list(requests.values()), when_silent):
                        await serve(
                            host,
                            app,
                            listener,
                            stop=stop,
                            ready=lambda: ready(address, link),
                            first=lambda: prepare_to_answer(settings),
                        )
            finally:
                listener.close()


async def prepare_to_answer(settings: Settings) -> None:
    """Warm up the first page, if the console is enabled, and exempt what is loaded from garbage collection.

    A host has some 400,000 objects. Looking through all of them would hold its event loop for a fifth of a second each time.
    """
    from gateleg.jobs.worker import exclude_loaded_modules

    if settings.console:
        from gateleg.web.console.mounting import warm

        await warm()
    exclude_loaded_modules()
