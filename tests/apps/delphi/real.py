"""Real conversations, where they lie beside the project."""

import csv
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from gateleg.apps.delphi.conversations.conversation import Conversation
from gateleg.apps.delphi.conversations.exports import read_export
from gateleg.apps.delphi.conversations.votes import Ints

FOLDER = Path(__file__).parents[3] / ".." / "shared" / "data" / "polis"
NAMES = (
    "15-per-hour-seattle",
    "bg2050-volunteers",
    "brexit-consensus",
    "canadian-electoral-reform",
    "hivemind-taxes",
    "land-bank-farmland",
    "vtaiwan-uberx",
)
#: Those that a plain and slow program can be run on.
SMALL = ("15-per-hour-seattle", "brexit-consensus", "canadian-electoral-reform")
needs_real_conversations = pytest.mark.skipif(not FOLDER.is_dir(), reason="the real conversations are not beside the project")


@cache
def real_conversation(name: str) -> Conversation:
    folder = FOLDER / name
    return read_export(folder / "votes.csv", folder / "comments.csv", summary=folder / "summary.csv")


@cache
def polis_groups(name: str) -> Ints:
    """For each participant who has voted, by id, the group that Polis gave them, -1 for none."""
    with (FOLDER / name / "participants-votes.csv").open(encoding="utf-8", newline="") as file:
        rows = {int(row["participant"]): row["group-id"] for row in csv.DictReader(file)}
    voted = np.unique(real_conversation(name).votes.participants).tolist()
    return np.array([int(rows[number]) if rows.get(number) else -1 for number in voted])
