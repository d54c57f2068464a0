"""The two modes of analysing votes, with their descriptions. Imports nothing heavy, because help texts need only this module."""

from typing import Literal

Mode = Literal["improved", "exact"]
#: The order of participants for the clustering of exact mode, which begins with the first of them.
Order = Literal["reading", "participant", "first-vote"]
#: The outcome of replaying the votes by time in improved mode: which division into groups was chosen, and why.
Division = Literal["seen", "same", "less-separated", "too-small", "no-times", "too-many", "one-group", "not-weighed"]

PURPOSES: dict[Mode, str] = {
    "improved": "improved finds cross-validated groups and states their certainty, for reading a conversation",
    "exact": "exact computes every step as Polis does, for comparing with its results",
}
#: Both descriptions in one sentence.
CHOICE = f"{'; '.join(PURPOSES.values())}."
#: The history of the conversation that each order assumes.
ORDERS: dict[Order, str] = {
    "reading": "reading assumes that Polis restarted and read all votes at once, comment by comment",
    "participant": "participant assumes that it ran from the beginning and took people in the order of their ids",
    "first-vote": "first-vote assumes that it took them in the order of their first votes",
}
ORDER_CHOICE = f"Exact mode: the order in which clustering takes participants: {'; '.join(ORDERS.values())}."
_FOUND: dict[Mode, str] = {"improved": "with many starts of k-means", "exact": "as Polis computes them"}
_BEGUN: dict[Order, str] = {
    "reading": "",
    "participant": ", starting with the participants with the lowest ids",
    "first-vote": ", starting with the participants who voted first",
}
_REPLAYED = "by replaying the votes in the order of time"
#: A sentence about each outcome; empty if there was no choice.
DIVISIONS: dict[Division, str] = {
    "seen": "These are the final groups of a replay of the votes in the order of time, which are closest to what participants saw; the "
    "votes alone do not clearly show others.",
    "same": "A replay of the votes in the order of time ends with the same groups.",
    "less-separated": "A replay of the votes in the order of time ends with other groups, which separate people clearly less well and are "
    "not used.",
    "too-small": "A replay of the votes in the order of time ends with one group and others of fewer than three people or two per cent, "
    "and is not used.",
    "no-times": "The votes have no times, so the groups that participants saw are unknown.",
    "too-many": "The conversation is too large to replay its votes, so the groups that participants saw are unknown.",
    "one-group": "",
    "not-weighed": "",
}


def how_found(mode: Mode, replayed: bool, order: Order = "reading", division: Division = "not-weighed") -> str:
    """A sentence that says how the groups of a run were found."""
    return f"Groups were found in {mode} mode, {_REPLAYED if replayed or division == 'seen' else _FOUND[mode] + _BEGUN[order]}."
