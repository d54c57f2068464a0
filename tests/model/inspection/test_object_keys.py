"""Items in which another program has stored something else than an object key."""

import pytest
from pydantic import ValidationError

from gateleg.model import Attr, Entity, Key, Record, S3Key, Table, field, spec_of
from gateleg.model.inspection import is_refused, refused_object_keys

table = Table("Prints", hash="pk")


class Frame(Record):
    picture: Attr[S3Key | None] = field(None)
    title: Attr[str] = field("")


class Print(Entity, table=table):
    number: Attr[str]
    picture: Attr[S3Key | None] = field(None)
    pages: Attr[list[S3Key]] = field(factory=list)
    companions: Attr[dict[str, S3Key]] = field(factory=dict)
    frame: Attr[Frame | None] = field(None)
    source: Attr[str] = field("")

    key = Key("{number}")


BAD = {"S": "https://a/b?X-Amz-Signature=1"}
GOOD = {"S": "a/b.png"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("picture", BAD),
        ("picture", {"S": " "}),
        ("pages", {"L": [GOOD, BAD]}),
        ("companions", {"M": {"one": GOOD, "two": BAD}}),
        ("frame", {"M": {"picture": BAD, "title": {"S": "https://a"}}}),
    ],
)
def test_they_are_read_and_named_and_written_back_as_they_were(name: str, value: dict[str, object]) -> None:
    spec = spec_of(Print)
    item = {**spec.encode(Print(number="1", source="https://a")), name: value}
    found = spec.decode(item)
    assert refused_object_keys(found) == (name,)
    assert spec.encode(found)[name] == value


def test_valid_keys_are_not_named() -> None:
    made = Print(number="1", picture="a", pages=["b"], companions={"x": "c"}, frame=Frame(picture="d"), source="https://a")
    assert refused_object_keys(spec_of(Print).decode(spec_of(Print).encode(made))) == ()


def test_they_are_still_refused_on_writes() -> None:
    with pytest.raises(ValidationError):
        Print(number="1", picture="https://a/b")
    with pytest.raises(ValueError, match="URL"):
        Print.pages.set(["data:,x"])
    assert (is_refused("https://a"), is_refused("a")) == (True, False)
