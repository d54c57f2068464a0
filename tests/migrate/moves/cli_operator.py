"""Whoever types `gateleg migrate`, for crash tests: the real command on an application with one migration."""

from __future__ import annotations

import sys

from gateleg.cli import installed
from gateleg.cli.commands import app
from gateleg.migrate import migrator

if __name__ == "__main__":
    # Only the application of the configuration: others are installed beside it.
    vars(installed)["entry_points"] = lambda group: ()
    # A minute is long for a test that kills operators; what holds in it holds in any time.
    migrator._LOCK_SECONDS = 3.0
    app(["migrate", *sys.argv[1:]])
