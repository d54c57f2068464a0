"""Entities with counters: shelves count their volumes."""

from gateleg.model import Attr, Counter, Entity, Key, Pattern, States, Table, Unique, Version, field, state

shelves = Table("Shelves", hash="pk", range="sk", tag="kind")


class Loan(States):
    """The states of a volume."""

    IN = state("in", to=["out"])
    OUT = state("out", to=["in"])


class Shelf(Entity, table=shelves, tag="shelf"):
    """A shelf, without a version."""

    shelf: Attr[str]
    room: Attr[str | None] = field(None)
    visits: Attr[int] = field(0)
    volumes: Attr[int] = field(0, ge=0)
    lent: Attr[int] = field(0, ge=0)

    key = Key("SHELF#{shelf}", "SHELF")


class Volume(Entity, table=shelves, tag="volume"):
    """A volume, which stays on one shelf."""

    shelf: Attr[str]
    number: Attr[int]
    loan: Attr[Loan] = field(Loan.IN)

    key = Key("SHELF#{shelf}", "VOLUME#{number:03d}")
    on_shelf = Pattern(title="The volumes of a shelf")
    counted = Counter(Shelf.volumes)
    counted_lent = Counter(Shelf.lent, when={"loan": ["out"]})


class Case(Entity, table=shelves, tag="case"):
    """A case, with a version."""

    case_id: Attr[str]
    label: Attr[str] = field("")
    maps: Attr[int] = field(0, ge=0)
    version: Attr[Version] = field(0)

    key = Key("CASE#{case_id}", "CASE")


class Map(Entity, table=shelves, tag="map"):
    """A map, which can move to another case; its title is unique."""

    map_id: Attr[str]
    case_id: Attr[str]
    title: Attr[str | None] = field(None)

    key = Key("MAP#{map_id}", "MAP")
    counted = Counter(Case.maps)
    once = Unique("title")


members = Table("Members", hash="pk", range="sk", tag="kind")


class Member(Entity, table=members, tag="member"):
    """A member, who may have three things out at a time and reserve fewer than three."""

    member: Attr[str]
    visits: Attr[int] = field(0)
    open_loans: Attr[int] = field(0, ge=0, le=3)
    reserved: Attr[int] = field(0, lt=3)

    key = Key("MEMBER#{member}", "MEMBER")


class Lending(Entity, table=members, tag="lending"):
    """A loan or reservation of a member."""

    lending_id: Attr[str]
    member: Attr[str]
    loan: Attr[Loan] = field(Loan.OUT)

    key = Key("LENDING#{lending_id}", "LENDING")
    counted_open = Counter(Member.open_loans, when={"loan": ["out"]})
    counted_reserved = Counter(Member.reserved, when={"loan": ["in"]})
