"""References: how messages show them."""

from gateleg.model import Attr, Entity, Key, Table

films = Table("Films", hash="pk", range="sk")


class Scene(Entity, table=films):
    film: Attr[str]
    number: Attr[int]
    key = Key("FILM#{film}", "SCENE#{number:03d}")


def test_a_reference_reads_like_the_call_that_makes_it() -> None:
    assert str(Scene.key(film="a", number=7)) == "Scene(film='a', number=7)"
    assert str(Scene(film="a", number=7).key) == "Scene(film='a', number=7)"
