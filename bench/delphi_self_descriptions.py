"""How well comments that describe their authors are told from opinions: precision and recall on labelled public conversations.

    python bench/delphi_self_descriptions.py ../shared/data/polis

A folder of exports in Polis's format, one folder each. The labels are below, by comment id: a comment is a self-description if it states a
fact about its author's identity, circumstances, habits, knowledge or past, and not a view, feeling or preference. One person labelled them.
The margin is fitted on the first conversations (the best F1), and judged on the others, which have no part in it.
"""

import argparse
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from gateleg.ai import Models
from gateleg.apps.delphi.conversations.exports import read_export
from gateleg.apps.delphi.topics.self_descriptions import MARGIN, margins_of

CONSOLE = Console(width=140)
FITTED: dict[str, set[int]] = {
    "15-per-hour-seattle": set(),
    "bg2050-volunteers": {12, 97, 254, 255},
    "canadian-electoral-reform": {
        *(5, 38, 39, 71, 72, 76, 77, 79, 89, 106, 107, 108, 112, 113, 116, 117, 120, 121, 122, 124, 144, 149, 150, 151, 152, 154),
        *(164, 165, 173),
    },
}
JUDGED: dict[str, set[int]] = {
    "brexit-consensus": {0, 1, 3, 10, 11, 15},
    "hivemind-taxes": {*range(15), 122},
    "land-bank-farmland": {53, 54, 55, 64, 65, 66, 67, 68, 69, 70, 152, 153, 157, 192, 284},
}
MARGINS = np.round(np.arange(0.0, 0.151, 0.01), 2)


def scored(folder: Path, labels: dict[str, set[int]]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The margin of every comment with text, and whether it is labelled, by conversation."""
    found = {}
    with Models() as models:
        embeddings = models.embeddings()
        for name, positive in labels.items():
            comments = [
                one for one in read_export(folder / name / "votes.csv", folder / name / "comments.csv").comments if one.body.strip()
            ]
            vectors = np.asarray(embeddings.embed([one.body for one in comments]), dtype=np.float32)
            found[name] = margins_of(vectors)[0], np.array([one.comment_id in positive for one in comments])
    return found


def counts(margins: np.ndarray, labels: np.ndarray, least: float) -> tuple[int, int, int]:
    """Suggested, rightly suggested, and labelled comments."""
    suggested = margins >= least
    return int(suggested.sum()), int((suggested & labels).sum()), int(labels.sum())


def f1(found: tuple[int, int, int]) -> float:
    """The harmonic mean of precision and recall."""
    return 2 * found[1] / max(1, found[0] + found[2])


def main() -> None:
    """Print the fitted margin, and the result for each conversation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    fitted = scored(folder, FITTED)
    together = tuple(np.concatenate(parts) for parts in zip(*fitted.values(), strict=True))
    best = max(MARGINS, key=lambda least: round(f1(counts(together[0], together[1], least)), 6))
    CONSOLE.print(f"fitted margin {best:.2f}; the package has {MARGIN:.2f}")
    table = Table("conversation", "comments", "labelled", "suggested", "right", "precision", "recall")
    for title, group in (("fitted", fitted), ("judged", scored(folder, JUDGED))):
        rows = {name: (len(labels), *counts(margins, labels, MARGIN)) for name, (margins, labels) in group.items()}
        total = tuple(map(sum, zip(*rows.values(), strict=True)))
        for name, (size, suggested, right, labelled) in {**rows, f"all {title}": total}.items():
            shares = [f"{right / one:.2f}" if one else "-" for one in (suggested, labelled)]
            table.add_row(name, str(size), str(labelled), str(suggested), str(right), *shares)
    CONSOLE.print(table)


if __name__ == "__main__":
    main()
