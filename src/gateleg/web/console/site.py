"""`Console`: what all open pages of one host share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateleg.web.console.live import Live
    from gateleg.web.host import Host


@dataclass(frozen=True)
class Console:
    """The console of one host: found by pages as `request.app.state.console`."""

    host: Host
    live: Live
