"""Keys are built from components, by plans and by compiled functions."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.model import Attr, Entity, Key, Table, spec_of
from gateleg.model.errors import EmptyKey, ModelError
from gateleg.model.keys import compile_ref
from gateleg.plain import is_plain
from tests.model.seeds.jobs import Job
from tests.model.seeds.mv import Scene
from tests.store.notes import Note

ODD = st.one_of(st.none(), st.integers(-5, 100_005), st.text(max_size=3), st.booleans(), st.just("a#b"), st.just("\U0010ffff"))


@given(book=st.one_of(ODD, st.text(min_size=1)), number=ODD)
def test_a_compiled_reference_equals_a_validated_one(book: Any, number: Any) -> None:
    spec, components = spec_of(Note), {"book": book, "number": number}
    quick = compile_ref(spec.entity, spec.key, spec.sources)(components)
    if quick is not None:
        assert quick == spec.locate_validated(spec.key, components)


@pytest.mark.skipif(is_plain("exact_refs"), reason="all components are validated")
@given(project=st.uuids(), sequence=st.integers(0, 999))
def test_components_of_the_declared_types_need_no_validation(project: Any, sequence: int) -> None:
    for entity, components in ((Scene, {"project_id": project, "sequence": sequence}), (Job, {"job_id": project})):
        spec: Any = spec_of(entity)
        quick = compile_ref(spec.entity, spec.key, spec.sources)(components)
        assert quick is not None
        assert quick.key == spec.locate_validated(spec.key, components).key


@pytest.mark.parametrize(
    "components", [{"book": "b"}, {"book": "b", "number": "1"}, {"book": "b", "number": 1, "x": 1}, {}, {"book": None, "number": 1}]
)
def test_components_of_other_types_are_validated(components: dict[str, Any]) -> None:
    assert compile_ref(Note, spec_of(Note).key, spec_of(Note).sources)(components) is None


def test_an_empty_component_is_refused_by_name() -> None:
    with pytest.raises(EmptyKey):
        Note.key(book="", number=1)
    with pytest.raises(ModelError, match="number"):
        Note.key(book="b", number="one")


films = Table("Films", hash="pk", range="sk")


class Shot(Entity, table=films):
    film: Attr[str]
    number: Attr[int]
    key = Key("FILM#{film}", "SCENE#{number:03d}")


def test_a_reference_reads_like_the_call_that_makes_it() -> None:
    assert str(Shot.key(film="a", number=7)) == "Shot(film='a', number=7)"
    assert str(Shot(film="a", number=7).key) == "Shot(film='a', number=7)"
