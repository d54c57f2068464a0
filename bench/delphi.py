"""The votes stage of Delphi beside scikit-learn on the same votes.

    python bench/delphi.py [--quick | --usual]

`--usual` measures a usual conversation instead, 300 people and 150 comments, from two CSV files to a report: the seconds of each step and
its share, in a process of its own, so that loading the libraries counts. It is run twice, and the second run is printed.

Otherwise: conversations of 1,000, 10,000 and 100,000 participants, the largest with 1,000 comments and 5 million votes, made by the
synthetic generator. `gateleg` is the whole stage: matrix, components, positions, base clusters, groups, subgroups, tallies,
representative comments, consensus, priorities, statistics of participants, correlations. `scikit-learn` is what it has of this: PCA on
the dense matrix with missing votes filled by the mean, and KMeans with silhouettes for the groups. Each figure is of a process of its
own: seconds of the stage (without making the votes) by the clock and of processors, and the most memory that the process ever had, the
votes and the libraries included. `stored` is the processor seconds that it takes to write all results to an embedded store in memory. The
adjusted Rand index says how well the planted groups were found.
"""

import argparse
import asyncio
import csv
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from rich.console import Console
from rich.table import Table

from gateleg.apps.delphi.agreement import agreement
from gateleg.apps.delphi.conversations.synthetic import Synthetic, SyntheticPlan, synthesise
from gateleg.apps.delphi.opinions.stage import Opinions, analyse
from gateleg.apps.delphi.runs.origin import Origin

CONSOLE = Console(width=140)
#: Participants, comments, and votes that each participant is asked for: a few are asked for twice.
SIZES = [(1_000, 100, 35.0), (10_000, 300, 52.0), (100_000, 1_000, 51.5)]


def conversation(participants: int) -> Synthetic:
    people, comments, votes = next(size for size in SIZES if size[0] == participants)
    return synthesise(SyntheticPlan(participants=people, comments=comments, votes_per_participant=votes, groups=4))


def ours(synthetic: Synthetic) -> dict[str, Any]:
    begun = now()
    opinions = analyse(synthetic.conversation.votes, synthetic.conversation.comments)
    taken = since(begun)
    labels = opinions.groups.group_of(len(opinions.matrix.participants))
    planted = synthetic.group_of[opinions.matrix.participants]
    grouped = labels >= 0
    figures = taken | {"megabytes": peak(), "ari": agreement(planted[grouped], labels[grouped])}
    return figures | {"stored": asyncio.run(stored(opinions))}


async def stored(opinions: Opinions) -> float:
    from gateleg.apps.delphi.service import ensure_tables, write_opinions
    from gateleg.store import AsyncStore

    async with AsyncStore.embedded() as store:
        await ensure_tables(store)
        start = time.process_time()
        await write_opinions(store, opinions, Origin(uuid4(), "bench", store.setup.now()))
        return time.process_time() - start


def scikit_learn(synthetic: Synthetic) -> dict[str, Any]:
    from sklearn.cluster import KMeans  # type: ignore[import-untyped]
    from sklearn.decomposition import PCA  # type: ignore[import-untyped]
    from sklearn.metrics import silhouette_score  # type: ignore[import-untyped]

    begun = now()
    votes = synthetic.conversation.votes
    order = np.argsort(votes.times, kind="stable")
    dense = np.full((len(synthetic.group_of), len(synthetic.conversation.comments)), np.nan)
    dense[votes.participants[order], votes.comments[order]] = votes.choices[order]
    missing = np.isnan(dense)
    dense = np.where(missing, np.nanmean(dense, axis=0), dense)
    stretch = np.sqrt(dense.shape[1] / np.maximum((~missing).sum(axis=1), 1))
    positions = PCA(n_components=2, random_state=0).fit_transform(dense) * stretch[:, None]
    base = KMeans(100, n_init=1, random_state=0).fit(positions)
    weights = np.bincount(base.labels_)
    tried = [KMeans(k, n_init=1, random_state=0).fit(base.cluster_centers_, sample_weight=weights) for k in range(2, 6)]
    best = max(tried, key=lambda found: silhouette_score(base.cluster_centers_, found.labels_))
    labels = best.labels_[base.labels_]
    return since(begun) | {"megabytes": peak(), "ari": agreement(synthetic.group_of, labels)}


def usual(folder: Path) -> dict[str, list[float]]:
    """The seconds of each step from two CSV files to a report, by the clock and of processors, the libraries that it loads included."""
    steps: dict[str, list[float]] = {}
    # What comes before the first step: the interpreter, and what this file imports.
    steps["starting"] = [0.0, time.process_time()]
    mark = now()

    def done(step: str) -> None:
        nonlocal mark
        taken = since(mark)
        steps[step], mark = [taken["seconds"], taken["processor"]], now()

    from gateleg.ai import Models
    from gateleg.apps.delphi.conversations.exports import read_export
    from gateleg.apps.delphi.reports.artifacts import data_files, make_artifacts
    from gateleg.apps.delphi.reports.findings import find
    from gateleg.apps.delphi.reports.narrative import write_sections
    from gateleg.apps.delphi.topics.stage import analyse_comments

    done("loading")
    conversation = read_export(folder / "votes.csv", folder / "comments.csv")
    current = "reading"

    def begin(step: str, _: float = 0.0) -> None:
        nonlocal current
        if step != current:
            done(current)
            current = step

    opinions = analyse(conversation.votes, conversation.comments, report=begin)
    begin("model")
    embeddings = Models().embeddings()
    topics = analyse_comments(conversation.comments, embeddings, votes=conversation.counted_votes, report=begin)
    begin("report")
    findings = find(conversation, opinions, topics)
    data = data_files(findings, opinions.matrix, conversation.comments)
    files = make_artifacts(findings, write_sections(findings), data, "templates", opinions.matrix)
    for name, content in files.items():
        (folder / "report" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "report" / name).write_bytes(content)
    done(current)
    return steps


def write_usual(folder: Path) -> None:
    """The two CSV files of a usual conversation."""
    made = synthesise(SyntheticPlan(participants=300, comments=150, votes_per_participant=40.0, groups=3)).conversation
    cast = made.votes
    with (folder / "votes.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["timestamp", "comment-id", "voter-id", "vote"])
        columns = ((cast.times // 1000).tolist(), cast.comments.tolist(), cast.participants.tolist(), cast.choices.tolist())
        rows.writerows(zip(*columns, strict=True))
    with (folder / "comments.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["comment-id", "moderated", "comment-body"])
        rows.writerows([one.comment_id, one.moderated, one.body] for one in made.comments)


def print_usual() -> None:
    """Measure a usual conversation twice, each time in a process of its own, and print the second."""
    with tempfile.TemporaryDirectory() as name:
        write_usual(Path(name))
        for _ in range(2):
            begun = time.perf_counter()
            done = subprocess.run([sys.executable, str(Path(__file__)), "--steps", name], capture_output=True, text=True, check=True)
            whole = time.perf_counter() - begun
    steps: dict[str, list[float]] = json.loads(done.stdout)
    steps["starting"][0] = whole - sum(seconds for seconds, _ in steps.values())
    spent = sum(processor for _, processor in steps.values())
    table = Table("step", "seconds", "of processors", "share of processors")
    for step, (seconds, processor) in steps.items():
        table.add_row(step, f"{seconds:.2f}", f"{processor:.2f}", f"{processor / spent:.0%}")
    table.add_row("whole process", f"{whole:.2f}", f"{spent:.2f}", "100%")
    CONSOLE.print(table)


def now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def since(begun: tuple[float, float]) -> dict[str, Any]:
    return {"seconds": time.perf_counter() - begun[0], "processor": time.process_time() - begun[1]}


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measured(who: str, participants: int) -> dict[str, Any]:
    """The figures of one of them, from a process of its own."""
    command = [sys.executable, str(Path(__file__)), "--one", who, str(participants)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1]}
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def shown(figures: dict[str, Any], name: str, form: str) -> str:
    return figures["error"][:30] if "error" in figures else format(figures[name], form)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="without the largest conversation")
    parser.add_argument("--usual", action="store_true", help="the steps of a usual conversation, from two CSV files to a report")
    parser.add_argument("--steps", metavar="FOLDER", help=argparse.SUPPRESS)
    parser.add_argument("--one", nargs=2, metavar=("WHO", "PARTICIPANTS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.steps:
        print(json.dumps(usual(Path(arguments.steps))))
        return
    if arguments.usual:
        print_usual()
        return
    if arguments.one:
        who, participants = arguments.one
        print(json.dumps((ours if who == "gateleg" else scikit_learn)(conversation(int(participants)))))
        return
    table = Table("participants x comments", "", "seconds", "of processors", "peak MB", "ARI", "stored", "x processors", "x MB")
    for participants, comments, _ in SIZES[: 2 if arguments.quick else None]:
        mine, peer = measured("gateleg", participants), measured("scikit-learn", participants)
        table.add_row(
            f"{participants:,} x {comments:,}",
            "gateleg",
            shown(mine, "seconds", ".2f"),
            shown(mine, "processor", ".2f"),
            shown(mine, "megabytes", ",.0f"),
            shown(mine, "ari", ".3f"),
            shown(mine, "stored", ".1f"),
        )
        both = "error" not in mine and "error" not in peer
        table.add_row(
            "",
            "scikit-learn",
            shown(peer, "seconds", ".2f"),
            shown(peer, "processor", ".2f"),
            shown(peer, "megabytes", ",.0f"),
            shown(peer, "ari", ".3f"),
            "",
            f"{peer['processor'] / mine['processor']:.2f}" if both else "",
            f"{peer['megabytes'] / mine['megabytes']:.2f}" if both else "",
        )
    CONSOLE.print(table)
    CONSOLE.print("x: how many times gateleg's own; above 1 gateleg needs less.")


if __name__ == "__main__":
    main()
