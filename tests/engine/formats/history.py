"""Make the golden files, and find the commits that need one.

    python tests/engine/formats/history.py forms              # the commits since which a file looks as it does
    python tests/engine/formats/history.py write [COMMIT ...]  # make the files of these commits again, or of all in COMMITS

Both check old commits out to a folder of their own, and run `scenario.py` with the code that they find there. A shallow clone lacks the
commits.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[2]

#: For each form that a file has had: the first commit that wrote it, or a later one that is known for it, and what was new.
#: Commits on which the package could not be imported whole, while branches were joined, are left out.
COMMITS = {
    "3bb955ec": "the first tables",
    "f47cfd4d": "lists of streams, backfills, backups and transfers",
    "0482cf51": "entries of streams; an index for expiry",
    "41962789": "another default account",
    "cd72d0f3": "namespaces as lists",
    "61a877a1": "point-in-time recovery; restores",
    "9e5b7de7": "backups, exports and imports",
    "0832fcb2": "entries of global indexes end in a hash",
    "71c33668": "the list of logs",
    "ae47cf45": "members of sets in their own order",
    "ff1d1485": "line breaks in the statements that create tables",
    "fda9ab77": "responses of transactions with sizes",
    "cfe91c37": "rows in the order of their insertion",
    "4e80be4b": "attributes of an updated item in another order",
    "6215159a": "checksums: format 2",
    "b79ef90a": "the last commit before `realm` became `namespace`",
    "d7bce803": "`realm` became `namespace`",
    "d7b01cc5": "copies and drops in steps; backups without a key index",
    "55f99e68": "no setting ContinuousBackups",
    "a5e28a16": "dropped tables are renamed at once",
    "5e782424": "an index of expiries that triggers maintain",
    "ea04615d": "columns of that index with types",
    "93abea05": "an index of a dropped table's keys, for eighteen minutes",
    "cc558d8a": "the release before formats 3 and 4",
    "cc487ddd": "definitions without names that follow from others",
}


@contextmanager
def checkout() -> Iterator[Path]:
    """A folder in which commits can be checked out."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        _git("worktree", "add", "--detach", str(tree), "HEAD")
        try:
            yield tree
        finally:
            _git("worktree", "remove", "--force", str(tree))


def check_out(tree: Path, commit: str) -> None:
    """Bring a checkout to a commit."""
    _git("checkout", "--quiet", "--force", commit, folder=tree)


def run_scenario(tree: Path, path: Path, scenario: Path = HERE / "scenario.py") -> dict[str, Any] | None:
    """Write a file with the code in a folder; returns what that code says of it, or None if it has no engine that can be imported."""
    if not (tree / "src/gateleg/engine/engine.py").exists():
        return None
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}
    command = [sys.executable, str(scenario), str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def form(path: Path) -> str:
    """A digest of all that a file holds: the same scenario writes the same, unless the form has changed."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    digest = hashlib.sha256()
    for pragma in ("user_version", "application_id", "page_size"):
        digest.update(repr(connection.execute(f"PRAGMA {pragma}").fetchall()).encode())
    schema = connection.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY name").fetchall()
    digest.update(repr(schema).encode())
    for kind, name, _ in schema:
        if kind == "table":
            digest.update(repr(connection.execute(f'SELECT * FROM "{name}"').fetchall()).encode())
    connection.close()
    return digest.hexdigest()[:12]


def pack(archive: Path, database: Path, answer: dict[str, Any]) -> None:
    """Write a golden file: a database, and what the code that wrote it says of it."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_LZMA) as golden:
        # A fixed date, so that the same content gives the same file.
        golden.writestr(zipfile.ZipInfo(database.name), database.read_bytes(), zipfile.ZIP_LZMA)
        golden.writestr(zipfile.ZipInfo("answer.json"), json.dumps(answer, sort_keys=True), zipfile.ZIP_LZMA)


def unpack(archive: Path, folder: Path) -> tuple[Path, dict[str, Any]]:
    """Extract a golden file: where its database is now, and the answer."""
    with zipfile.ZipFile(archive) as golden:
        (database,) = (name for name in golden.namelist() if name != "answer.json")
        golden.extract(database, folder)
        answer: dict[str, Any] = json.loads(golden.read("answer.json"))
    return folder / database, answer


def print_forms() -> None:
    """Print each commit whose form differs from that of the commit before, in the order of history."""
    listed = _git("log", "--full-history", "--topo-order", "--reverse", "--format=%h", "--", "src/gateleg/engine").split()
    latest = ""
    with checkout() as tree:
        for commit in listed:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "data.db"
                check_out(tree, commit)
                answer = run_scenario(tree, path)
                found = "cannot run" if answer is None else form(path)
            if found != latest:
                print(commit, found, *(step.partition(":")[0] for step in (answer or {}).get("unknown", [])), sep=", ", flush=True)
            latest = found


def write(commits: list[str]) -> None:
    """Make the golden files of these commits."""
    with checkout() as tree:
        for commit in commits:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "data.db"
                check_out(tree, commit)
                answer = run_scenario(tree, path)
                if answer is None:
                    raise SystemExit(f"{commit}: the scenario does not run")
                pack(HERE / f"{commit}.zip", path, answer)
            print(commit, COMMITS.get(commit, ""), flush=True)


def _git(*arguments: str, folder: Path = REPOSITORY) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    if sys.argv[1:2] == ["write"]:
        write(sys.argv[2:] or list(COMMITS))
    else:
        print_forms()
