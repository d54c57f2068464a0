"""`Console`: state that all open pages of a host share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateleg.web.console.live import Live
    from gateleg.web.host import Host


@dataclass(frozen=True)
class Console:
    """The console of a host; pages find it as `request.app.state.console`."""

    host: Host
    live: Live
