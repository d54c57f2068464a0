"""`Resources`: what the routes, pages, handlers, commands and demo of one application can use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic

from pydantic import BaseModel
from typing_extensions import TypeVar

from gateleg.objects.private import make_private

if TYPE_CHECKING:
    from pathlib import Path

    from gateleg.jobs import AsyncQueue
    from gateleg.objects import AsyncObjects
    from gateleg.store import AsyncStore
    from gateleg.web.audit import Audit
    from gateleg.web.events import Hub

S = TypeVar("S", bound=BaseModel, default=BaseModel)


@dataclass(frozen=True)
class Resources(Generic[S]):
    """What a host gives to one of its applications. `Resources[ShopSettings]` has settings of that type.

    A host opens them; a worker has the same ones, opened in its own process.
    """

    #: the name of the application that they belong to
    application: str
    #: the store of all tables
    store: AsyncStore
    #: the store of all objects
    objects: AsyncObjects
    #: the job queue with the handlers of all installed applications
    queue: AsyncQueue
    #: the application's own section of the settings, as its `Application.settings` declares it
    settings: S
    #: live events: topics with one source each, shared by all who follow them
    events: Hub
    #: the audit log
    audit: Audit
    #: the data folder of the host, in which every application has a folder of its own
    host_data: Path

    @property
    def data(self) -> Path:
        """The application's own folder on this machine, made when it is asked for. Nobody but the owner of the host can enter it."""
        folder = self.host_data / "apps" / self.application
        make_private(folder)
        return folder
