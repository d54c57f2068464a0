"""Which attributes of items are links to others."""

from urllib.parse import parse_qs, urlsplit
from uuid import UUID

from gateleg.host.item_keys import read_key
from gateleg.jobs.tables import TABLES
from gateleg.model import Attr, Entity, Key, Table, new_uuid, spec_of
from gateleg.web.console.tables.query_results import addresses, references
from tests.web.console.tables.library import Book, Loan, Reader, books, library, loans, readers

runs = Table("Runs", hash="run_id")


class Run(Entity, table=runs):
    """A run that names its job."""

    run_id: Attr[str]
    job_id: Attr[UUID] = new_uuid()
    key = Key("{run_id}")


def test_an_attribute_refers_to_the_entity_whose_key_is_made_of_it() -> None:
    assert references(spec_of(Loan), (library, readers)) == {"book_id": spec_of(Book)}
    assert references(spec_of(Book), (library, readers)) == {}
    assert references(spec_of(Reader), (library, readers)) == {}


def test_a_reference_leads_to_the_item() -> None:
    loan, spec = loans()[0], spec_of(Loan)
    (found,) = addresses(spec, spec.encode(loan), references(spec, (library,))).values()
    place = urlsplit(found)
    assert place.path == "/tables/Library/item"
    book = next(one for one in books() if one.book_id == loan.book_id)
    assert read_key(library, parse_qs(place.query)["key"][0]) == spec_of(Book).ref(book).key


def test_the_id_of_a_job_leads_to_the_job() -> None:
    run, spec = Run(run_id="a"), spec_of(Run)
    assert addresses(spec, spec.encode(run), references(spec, (runs, *TABLES))) == {"job_id": f"/jobs/{run.job_id}"}


def test_an_item_that_cannot_be_read_has_no_references() -> None:
    spec = spec_of(Loan)
    item = {**spec.encode(loans()[0]), "due_at": {"S": "soon"}}
    assert addresses(spec, item, references(spec, (library,))) == {}
