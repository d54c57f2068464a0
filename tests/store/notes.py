"""A small schema with all features of the store: shards, keys-only indexes, versions, unique titles."""

from gateleg.model import GSI, Attr, Entity, Key, Pattern, Table, Unique, Version, field, required

shelf = Table(
    "Notes",
    hash="pk",
    range="sk",
    tag="kind",
    indexes=[
        GSI("by-topic", hash="topic_pk", range="topic_sk"),
        GSI("by-author", hash="author", range="number", project="keys"),
    ],
)


class Note(Entity, table=shelf, tag="note"):
    """A note in a book."""

    book: Attr[str]
    number: Attr[int] = required(ge=0)
    topic: Attr[str] = field("none")
    author: Attr[str | None] = field(None)
    text: Attr[str] = field("")
    footnote: Attr[str | None] = field(None)
    stars: Attr[int] = field(0)

    key = Key("BOOK#{book}", "NOTE#{number:05d}")
    topic_key = Key("{topic}", "{number:05d}", index="by-topic", shards=4)
    in_book = Pattern(title="The notes of a book")
    on_topic = Pattern("by-topic", title="Notes on a topic, in the order of their numbers")
    by_author = Pattern("by-author", title="Notes of an author")


class Draft(Entity, table=shelf, tag="draft"):
    """A draft with a version."""

    book: Attr[str]
    title: Attr[str]
    text: Attr[str] = field("")
    version: Attr[Version] = field(0)

    key = Key("BOOK#{book}", "DRAFT#{title}")


titles = Table("Titles", hash="id")


class Title(Entity, table=titles):
    """An item with a unique title."""

    id: Attr[str]
    title: Attr[str | None] = field(None)
    text: Attr[str] = field("")

    key = Key("{id}")
    once = Unique("title")


def notes(count: int, book: str = "b", **values: object) -> list[Note]:
    """A number of notes of a book."""
    return [Note(**{"book": book, "number": number, **values}) for number in range(count)]  # type: ignore[arg-type]
