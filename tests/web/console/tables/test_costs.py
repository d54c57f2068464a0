"""What tables cost, and the parts of their documents."""

from xml.etree import ElementTree

import pytest

from gateleg.jobs import JobStatus
from gateleg.jobs.tables import TABLES
from gateleg.model import States, Table
from gateleg.ops import document
from gateleg.store.observing import Tally
from gateleg.web.console.tables.health import billing, parts_of, pattern_costs
from gateleg.web.console.tables.state_drawings import layers_of, state_svg
from gateleg.web.console.tables.table_page import drawings_of
from gateleg.web.console.tables.table_page import parts_of as document_parts
from tests.web.console.tables.library import BookStatus, library, readers

DESCRIPTION = {
    "TableName": "Library",
    "ItemCount": 3,
    "TableSizeBytes": 300,
    "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"},
    "GlobalSecondaryIndexes": [{"IndexName": "ShelfIndex", "ItemCount": 2, "IndexSizeBytes": 20}],
}


def test_billing_is_said_in_words() -> None:
    assert billing(DESCRIPTION).startswith("On-demand billing")
    provisioned = {"ProvisionedThroughput": {"ReadCapacityUnits": 1000, "WriteCapacityUnits": 5}}
    assert billing(provisioned) == "Provisioned: 1,000 read and 5 write units per second are billed, used or not."


def test_a_table_has_its_indexes_as_parts() -> None:
    assert [(part.name, part.items, part.bytes, part.read) for part in parts_of(DESCRIPTION)] == [
        ("the table", 3, 300, None),
        ("ShelfIndex", 2, 20, None),
    ]


def test_patterns_are_listed_with_their_cost_on_paper_and_so_far_the_dearest_first() -> None:
    tallies = {
        ("Book.on_shelf", "Query"): Tally(requests=2, items=10, units=3.0, seconds=0.2, longest=0.15),
        ("Book.get", "GetItem"): Tally(requests=1, items=1, units=0.5),
        ("Library browse", "Scan"): Tally(requests=1, errors=1, units=9.0),
        ("Job.get", "GetItem"): Tally(requests=1, units=99.0),
    }
    spent = pattern_costs(library, tallies)
    assert [entry.name for entry in spent] == ["Library browse", "Book.on_shelf", "Book.get", "Loan.of_book", "Loan.of_reader"]
    assert (spent[1].mean, spent[1].on_paper, spent[2].on_paper) == (0.1, 12.5, None)
    assert spent[3].requests == 0


def test_a_document_is_taken_apart_into_texts_and_diagrams() -> None:
    parts = document_parts(document(library))
    kinds = [kind for kind, _ in parts]
    assert kinds[:3] == ["text", "diagram", "text"]
    diagrams = [text for kind, text in parts if kind == "diagram"]
    assert diagrams[0].startswith("flowchart")
    assert any(text.startswith("stateDiagram") for text in diagrams)
    assert not any("```mermaid" in text for _, text in parts)
    assert not parts[0][1].startswith("# Library")


@pytest.mark.parametrize("table", [library, readers, *TABLES], ids=lambda table: table.name)
def test_a_document_has_as_many_drawings_as_diagrams(table: Table) -> None:
    diagrams = [text for kind, text in document_parts(document(table)) if kind == "diagram"]
    assert len(list(drawings_of(table))) == len(diagrams)


def test_states_are_drawn_in_layers_from_the_first() -> None:
    assert [[str(state) for state in layer] for layer in layers_of(BookStatus)] == [["shelved"], ["lent", "mended"], ["lost"]]


@pytest.mark.parametrize("states", [BookStatus, JobStatus])
def test_every_move_has_an_arrow_and_is_told(states: type[States]) -> None:
    root = ElementTree.fromstring(state_svg(states))
    moves = sum(len(state.successors) for state in states)
    tips = sum(name in ("marker-start", "marker-end") for path in root.iter() for name in path.attrib)
    assert tips == moves + 1
    assert f"Initial: {next(iter(states))}." in root.attrib["aria-label"]
