"""Tables and states for declarations in tests."""

from gateleg.model import (
    GSI,
    States,
    Table,
    state,
)


class Phase(States):
    NEW = state("new", to=["old"])
    OLD = state("old")


def pair() -> Table:
    return Table("pairs", hash="PK", range="SK", tag="kind", indexes=[GSI("g", hash="G", range="GS")])


def single() -> Table:
    return Table("singles", hash="id")
