"""Make the golden stores of earlier releases: `python -m tests.releases.history`, from the root of the repository."""

import tempfile
from pathlib import Path

from tests.engine.formats.history import check_out, checkout, pack, run_scenario

HERE = Path(__file__).parent
#: The release before the formats of the engine had numbers of their own, and one of three days earlier.
RELEASES = ("cc558d8a", "eb8a787e")


def write() -> None:
    """Make the store of each release with its own code."""
    with checkout() as tree:
        for commit in RELEASES:
            with tempfile.TemporaryDirectory() as folder:
                check_out(tree, commit)
                answer = run_scenario(tree, Path(folder), HERE / "scenario.py")
                if answer is None:
                    raise SystemExit(f"{commit}: the scenario does not run")
                pack(HERE / f"{commit}.zip", Path(folder) / "gateleg.db", answer)


if __name__ == "__main__":
    write()
