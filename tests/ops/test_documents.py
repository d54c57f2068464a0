import re

import pytest

from gateleg.model import Attr, Entity, Key, Record, States, Table, field, required, state
from gateleg.ops import document
from gateleg.ops.documents import attribute_comments, state_diagram
from tests.model.seeds import agents, delphi, jobs, mv, rag

TABLES = [mv.projects, jobs.queue, rag.collections, rag.documents, rag.vector_stores, agents.agents, delphi.embeddings]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_attribute_index_and_pattern_is_in_the_document(table: Table) -> None:
    text = document(table)
    for spec in table.specs:
        assert all(f"| `{attribute.name}` | `{attribute.wire}` |" in text for attribute in spec.attributes.values())
        assert all(f"### {access.name}" in text for access in spec.patterns.values())
    assert all(f"| `{index.name}` |" in text for index in table.indexes)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_the_rows_of_every_grid_have_as_many_cells_as_its_head(table: Table) -> None:
    for block in re.findall(r"(?:^\|.*\n)+", document(table), re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in block.splitlines()}) == 1


def test_keys_are_shown_as_their_templates() -> None:
    assert "| the table | `PK` = `PROJECT#{project_id}`, `SK` = `SCENE#{sequence:03d}` |" in document(mv.projects)


def test_older_forms_of_a_key_are_shown() -> None:
    assert "| the table, legacy key | `pk` = `{repository_id}`, `document_id` = `{document_id}` | reading |" in document(rag.documents)


def test_states_are_a_diagram() -> None:
    text = document(mv.projects)
    assert "stateDiagram-v2\n    [*] --> pending\n" in text
    assert "    failed --> [*]" in text


def test_the_comment_over_an_attribute_is_its_note() -> None:
    assert re.search(r"`priority` .*0 to 100, higher first", document(jobs.queue))


def test_comments_of_bases_and_several_lines_are_found() -> None:
    class Plain(Record):
        #: one line
        #: and another
        one: Attr[str]
        # not this one
        two: Attr[str]

    class Derived(Plain):
        #: its own
        three: Attr[str]

    assert attribute_comments(Derived) == {"one": "one line and another", "three": "its own"}


def test_nested_records_are_documented_with_their_wire_names() -> None:
    assert "| `chunk_size` | `chunkSize` | `int` | **required** |" in document(rag.collections)


def test_limits_and_defaults_are_shown() -> None:
    table = Table("notes", hash="id")

    class Note(Entity, table=table):
        id: Attr[str] = required(min_length=2, pattern="^[a-z]+$")
        stars: Attr[int] = field(3, ge=0, lt=6)
        done: Attr[bool] = field(False)
        key = Key("{id}")

    text = document(table)
    assert "| `id` | `id` | `str` | **required** | length ≥ 2, matches ^[a-z]+$ |" in text
    assert "| `stars` | `stars` | `int` | 3 | ≥ 0, < 6 |" in text
    assert "| `done` | `done` | `bool` | false |  |" in text


def test_states_with_words_of_the_diagram_get_other_names() -> None:
    class Phase(States):
        START = state("in-work", to=["end"])
        END = state("end")

    assert state_diagram(Phase).splitlines()[1:-1] == [
        "stateDiagram-v2",
        "    in_work : in-work",
        "    end_ : end",
        "    [*] --> in_work",
        "    in_work --> end_",
        "    end_ --> [*]",
    ]
