"""Whoever migrates, for crash tests: applies the migration or rolls it back, and can be killed at any moment.

The clock is set forward, so that the lock of one that was killed is over.
"""

from __future__ import annotations

import sys
import time

from gateleg.apps.agents.migrations.m0001_partition_keys import migration
from gateleg.migrate import Migrator, MoveOptions, RateLimits
from gateleg.store import Store


def main(folder: str, way: str, ahead: str, page: str = "25") -> None:
    """Migrate."""
    late = float(ahead)
    with Store.connect(f"embedded:{folder}/store?durability=relaxed", clock=lambda: time.time() + late) as store:
        options = MoveOptions(segments=2, limits=RateLimits(page_size=int(page)), force=True)
        migrator = Migrator(store, "agents", [migration], by=f"operator {ahead}", options=options)
        if way == "forward":
            migrator.apply()
        else:
            migrator.rollback(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
