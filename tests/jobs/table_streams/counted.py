"""Items that count up, so that the order of their changes can be told."""

from gateleg.model import Attr, Entity, Key, Table

counted = Table("Counted", hash="item", stream="NEW_AND_OLD_IMAGES")


class Counted(Entity, table=counted):
    item: Attr[str]
    number: Attr[int]

    key = Key("{item}")
