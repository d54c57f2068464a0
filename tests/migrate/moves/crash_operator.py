"""Whoever moves the agents, for crash tests: goes to a phase, forward or back, and can be killed at any moment."""

from __future__ import annotations

import sys

from gateleg.migrate import MoveOptions, Phase, RateLimits
from gateleg.migrate.moves.control import read_state
from gateleg.migrate.moves.steps import advance, go_back
from gateleg.store import Store
from tests.migrate.moves.layouts import agents_move


def main(folder: str, phase: str, way: str) -> None:
    """Go to a phase."""
    options = MoveOptions(segments=3, limits=RateLimits(page_size=10), force=True)
    (stage,) = agents_move.stages
    with Store.connect(f"embedded:{folder}/store?durability=relaxed") as store:
        go = advance if way == "forward" else go_back
        store.drive(go(agents_move, stage, Phase(phase), store.setup, options))
        assert store.drive(read_state(agents_move, stage, store.setup)).phase is Phase(phase)


if __name__ == "__main__":
    main(*sys.argv[1:])
