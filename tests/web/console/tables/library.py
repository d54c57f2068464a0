"""A small library: books with a version and states, loans without one, readers with unique addresses, and some of each."""

from datetime import UTC, datetime, timedelta
from uuid import NAMESPACE_URL, UUID, uuid5

from gateleg.model import (
    GSI,
    Attr,
    Entity,
    Key,
    Pattern,
    Record,
    S3Key,
    States,
    Table,
    Unique,
    Version,
    field,
    new_uuid,
    required,
    stamp,
    state,
)

library = Table(
    "Library",
    hash="pk",
    range="sk",
    tag="kind",
    indexes=[
        GSI("ShelfIndex", hash="shelf_status", range="shelf_title"),
        GSI("DueIndex", hash="reader", range="due_at", project="keys"),
    ],
)
readers = Table("Readers", hash="reader_id")


class BookStatus(States):
    """Where a book is."""

    SHELVED = state("shelved", to=["lent", "mended"])
    LENT = state("lent", to=["shelved", "lost"])
    MENDED = state("mended", to=["shelved"])
    LOST = state("lost")


class Cover(Record):
    """How a book looks."""

    colour: Attr[str]
    picture: Attr[S3Key | None] = field(None)


class Book(Entity, table=library, tag="book"):
    """A book that can be lent."""

    book_id: Attr[UUID] = new_uuid()
    title: Attr[str] = required(min_length=1, max_length=200)
    author: Attr[str]
    status: Attr[BookStatus] = field(BookStatus.SHELVED)
    #: where it stands, such as A4
    shelf: Attr[str] = required(pattern=r"^[A-Z]\d+$")
    year: Attr[int | None] = field(None, ge=1000, le=2100)
    price: Attr[float] = field(0.0, ge=0)
    rare: Attr[bool] = field(False)
    subjects: Attr[list[str]] = field(factory=list)
    cover: Attr[Cover | None] = field(None)
    created_at: Attr[datetime] = stamp(on="create")
    updated_at: Attr[datetime] = stamp(on="write")
    version: Attr[Version] = field(0)

    key = Key("BOOK#{book_id}", "BOOK")
    shelf_key = Key("{status}", "{shelf}#{title}", index="ShelfIndex")
    on_shelf = Pattern("ShelfIndex", title="Books in a status, by shelf and title", description="Narrow it to one shelf if you like.")


class Loan(Entity, table=library, tag="loan"):
    """A book in somebody's hands."""

    book_id: Attr[UUID]
    number: Attr[int] = required(ge=0)
    reader: Attr[str]
    due_at: Attr[datetime]
    note: Attr[str | None] = field(None)
    secret: Attr[str | None] = field(None, hidden=True)

    key = Key("BOOK#{book_id}", "LOAN#{number:05d}")
    of_book = Pattern(title="The loans of a book, oldest first")
    of_reader = Pattern("DueIndex", title="What a reader has borrowed, by the day it is due")


class Reader(Entity, table=readers):
    """Somebody who borrows books."""

    reader_id: Attr[str]
    email: Attr[str]
    name: Attr[str] = field("")

    key = Key("{reader_id}")
    once = Unique("email")


NOW = datetime(2026, 11, 15, 6, 0, tzinfo=UTC)
_SHELF = [
    ("The Left Hand of Darkness", "Ursula K. Le Guin", "A4", 1969, 14.5, "shelved", ["winter", "gender", "exile"]),
    ("Invisible Cities", "Italo Calvino", "A4", 1972, 12.0, "lent", ["cities", "memory"]),
    ("Kindred", "Octavia E. Butler", "B1", 1979, 13.25, "shelved", ["history", "time"]),
    ("The Dispossessed", "Ursula K. Le Guin", "A4", 1974, 14.5, "lent", ["utopia"]),
    ("Solaris", "Stanisław Lem", "B2", 1961, 11.0, "mended", ["ocean", "memory"]),
    ("Beloved", "Toni Morrison", "C3", 1987, 15.0, "shelved", ["history", "ghosts"]),
    ("Pale Fire", "Vladimir Nabokov", "C3", 1962, 16.75, "shelved", ["poetry", "kings"]),
    ("The Master and Margarita", "Mikhail Bulgakov", "B2", 1967, 12.5, "lost", ["devil", "cats"]),
    ("Ficciones", "Jorge Luis Borges", "A1", 1944, 10.0, "shelved", ["labyrinths"]),
    ("Orlando", "Virginia Woolf", "A1", 1928, 9.5, "shelved", ["time", "gender"]),
    ("Season of Migration to the North", "Tayeb Salih", "B1", 1966, 11.75, "lent", ["return"]),
    ("The Unbearable Lightness of Being", "Milan Kundera", "C1", 1984, 13.0, "shelved", ["prague"]),
]


def books() -> list[Book]:
    """Twelve books."""
    return [
        Book(
            book_id=uuid5(NAMESPACE_URL, title),
            title=title,
            author=author,
            shelf=shelf,
            year=year,
            price=price,
            status=BookStatus(status),
            subjects=subjects,
            rare=year < 1950,
            cover=Cover(colour="green") if number % 3 == 0 else None,
            created_at=NOW - timedelta(days=number),
        )
        for number, (title, author, shelf, year, price, status, subjects) in enumerate(_SHELF)
    ]


def loans() -> list[Loan]:
    """A loan of each book that is lent, and an older one."""
    lent = [book for book in books() if book.status == BookStatus.LENT]
    return [
        Loan(book_id=book.book_id, number=number, reader=reader, due_at=NOW + timedelta(days=7 * number - 3), secret="s3cret")
        for book in lent
        for number, reader in enumerate(("ada", "grace"))
    ]
