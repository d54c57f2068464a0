"""`GATELEG_PLAIN`: which fast paths it turns off, and that answers do not depend on them."""

import functools
import os
import subprocess
import sys

import pytest

from gateleg.plain import FAST_PATHS, is_plain, read_plain

#: Writes, reads and updates, printed as they are stored and read.
SCRIPT = """
from gateleg.model import Attr, Entity, Key, Pattern, Table, Version, field
from gateleg.store import Store

notes = Table("Notes", hash="owner", range="number")

class Note(Entity, table=notes):
    owner: Attr[str]
    number: Attr[int]
    tags: Attr[list[str]] = field(factory=list)
    rating: Attr[float] = field(1.5, ge=0)
    version: Attr[Version] = field(0)
    key = Key("{owner}", "{number}")
    all = Pattern(title="The notes of an owner")

with Store.embedded() as store:
    store.create_tables(notes)
    for number in range(3):
        note = store.create(Note(owner="anna", number=number, tags=["a"]))
        for rating in (2.0, 3.0):
            note = store.patch(note, Note.rating.set(rating))
        print(repr(note), store.get(note) == note, sorted(note.model_fields_set))
    print(list(store.query(Note.all, owner="anna")))
    print(store.transport.call("Scan", {"TableName": "Notes"})["Items"])
"""


@functools.cache
def printed(value: str) -> str:
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT], env={**os.environ, "GATELEG_PLAIN": value}, capture_output=True, text=True, check=True
    )
    return run.stdout


@pytest.mark.parametrize("value", ["1", *FAST_PATHS])
def test_a_program_prints_the_same_without_fast_paths(value: str) -> None:
    assert printed(value) == printed("0") != ""


def test_one_turns_all_off_and_names_turn_some_off() -> None:
    assert read_plain("1") == FAST_PATHS.keys()
    assert read_plain("") == read_plain("0") == frozenset()
    assert read_plain("decoder, plans") == {"decoder", "plans"}


def test_a_name_that_is_not_a_fast_path_is_refused() -> None:
    with pytest.raises(ValueError, match="decodr, which is not a fast path"):
        read_plain("decodr")
    with pytest.raises(ValueError, match="'decodr' is not in FAST_PATHS"):
        is_plain("decodr")
