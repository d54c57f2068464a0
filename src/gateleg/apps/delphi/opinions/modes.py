"""The two ways to analyse votes, and what each is for, as people are told. Nothing is loaded for it: help texts need no more."""

from typing import Literal

Mode = Literal["improved", "exact"]
#: In which order exact mode takes participants into the clustering, which begins with the first of them.
Order = Literal["reading", "participant", "first-vote"]
#: What came of a replay of the votes by time in improved mode: which division into groups was taken, and why.
Division = Literal["seen", "same", "less-separated", "too-small", "no-times", "too-many", "one-group", "not-weighed"]

PURPOSES: dict[Mode, str] = {
    "improved": "improved finds groups that hold for people who had no part in it, and says how sure they are: to read a conversation",
    "exact": "exact computes every step as Polis does: to compare with its results",
}
#: Both, for whoever has to choose.
CHOICE = f"{'; '.join(PURPOSES.values())}."
#: Which history of a conversation each order assumes.
ORDERS: dict[Order, str] = {
    "reading": "reading assumes that Polis was started anew and read all votes at once, comment by comment",
    "participant": "participant that it had run from the beginning and took people as they opened the conversation, by id",
    "first-vote": "first-vote that it took them as they first voted",
}
ORDER_CHOICE = f"Of exact mode, where the clustering begins: {'; '.join(ORDERS.values())}."
_FOUND: dict[Mode, str] = {"improved": "from many beginnings", "exact": "as Polis computes them"}
_BEGUN: dict[Order, str] = {
    "reading": "",
    "participant": ", beginning with the participants of the lowest ids",
    "first-vote": ", beginning with those who voted first",
}
_REPLAYED = "as they came about over time"
#: What is told of each; nothing where there was nothing to choose between.
DIVISIONS: dict[Division, str] = {
    "seen": "These are the groups that a replay of the votes by time ends with, the nearest to what participants saw; the votes alone do "
    "not clearly show others.",
    "same": "A replay of the votes by time ends with the same groups.",
    "less-separated": "A replay of the votes by time ends with other groups, which separate people clearly less well and were not taken.",
    "too-small": "A replay of the votes by time ends with one group and others of fewer than three people or two per cent, and was not "
    "taken.",
    "no-times": "The votes have no times, so nothing is known of the groups that participants saw.",
    "too-many": "The conversation is too large to replay its votes by time, so nothing is known of the groups that participants saw.",
    "one-group": "",
    "not-weighed": "",
}


def how_found(mode: Mode, replayed: bool, order: Order = "reading", division: Division = "not-weighed") -> str:
    """How the groups of a run were found, in a sentence."""
    return f"Groups were found in {mode} mode, {_REPLAYED if replayed or division == 'seen' else _FOUND[mode] + _BEGUN[order]}."
