"""What `up` and `serve` share: running a host until a signal, and explaining what went wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import typer

from gateleg.cli.failures import FAILED, fail

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, Iterator
    from contextlib import AbstractAsyncContextManager

    from gateleg.web import Application
    from gateleg.web.host import Host
    from gateleg.web.settings import Settings


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
    beside: Callable[[], AbstractAsyncContextManager[object]] | None = None,
) -> None:
    """Open a host and serve it until SIGINT or SIGTERM. `prepared` is awaited before it listens, `beside` is entered while it runs.

    `ready` is told the address, and while there is no key the link that signs a browser in.
    """
    import asyncio

    from gateleg.cli.installed import needs
    from gateleg.web.logs import set_up_logs

    needs("web", "fastapi", "uvicorn", *(["nicegui"] if settings.console else []))
    set_up_logs(settings)
    try:
        with asyncio.Runner(loop_factory=_quick_loop()) as runner:
            runner.run(_run(settings, applications, ready, prepared, beside))
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    except Exception as error:
        explain(error, settings)


def _quick_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The event loop that serves most requests, where there is one."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def explain(error: Exception, settings: Settings) -> NoReturn:
    """Say what went wrong, where it is something that can go wrong; anything else is a fault of ours, and keeps its trace."""
    from gateleg.model import ModelError
    from gateleg.objects import ObjectsError
    from gateleg.store import StoreError
    from gateleg.web import Refusal

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
    beside: Callable[[], AbstractAsyncContextManager[object]] | None,
) -> None:
    import asyncio
    import contextlib

    from gateleg.web.host import Host
    from gateleg.web.serving import address_of, check_reach, listen, serve

    stop = asyncio.Event()
    with _signals(stop):
        async with Host.open(settings, applications) as host:
            await check_reach(host)
            listener = listen(settings)
            try:
                async with beside() if beside is not None else contextlib.nullcontext():
                    if prepared is not None:
                        await prepared(host)
                    # The largest part of what is loaded, and of no use to a host that cannot start.
                    from gateleg.web.app import create_app

                    app = create_app(host)
                    address = address_of(listener, settings)
                    # A proxy's address would not do: the token is taken at this machine only.
                    here = address_of(listener, settings.model_copy(update={"url": None}))
                    link = None if await host.keys.exist() else host.local.link(here)
                    await serve(host, app, listener, stop=stop, ready=lambda: ready(address, link), first=_warming(settings))
            finally:
                listener.close()


def _warming(settings: Settings) -> Callable[[], Awaitable[None]] | None:
    """What makes the first page quick, where there are pages."""
    if not settings.console:
        return None
    from gateleg.web.console.warming import warm

    return warm


def _signals(stop: asyncio.Event) -> Any:
    """Set an event on SIGINT and SIGTERM. A second SIGINT does not wait for anything."""
    import asyncio
    import contextlib
    import signal

    @contextlib.contextmanager
    def watching() -> Iterator[None]:
        loop = asyncio.get_running_loop()

        def told(number: int) -> None:
            if stop.is_set() and number == signal.SIGINT:
                signal.signal(signal.SIGINT, signal.SIG_DFL)
                signal.raise_signal(signal.SIGINT)
            stop.set()

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, told, number)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)

    return watching()
