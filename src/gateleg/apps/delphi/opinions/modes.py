"""The two ways to analyse votes, and what each is for, as people are told. Nothing is loaded for it: help texts need no more."""

from typing import Literal

Mode = Literal["improved", "exact"]

PURPOSES: dict[Mode, str] = {
    "improved": "improved finds groups from many beginnings and says how sure they are: to read a conversation",
    "exact": "exact computes every step as Polis does: to compare with its results",
}
#: Both, for whoever has to choose.
CHOICE = f"{'; '.join(PURPOSES.values())}."
_FOUND: dict[Mode, str] = {"improved": "from many beginnings", "exact": "as Polis computes them"}


def how_found(mode: Mode, replayed: bool) -> str:
    """How the groups of a run were found, in a sentence."""
    return f"Groups were found in {mode} mode, {'as they came about over time' if replayed else _FOUND[mode]}."
