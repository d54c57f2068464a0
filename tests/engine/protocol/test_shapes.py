"""The shapes of requests: the facts are AWS's, and each difference from them is one."""

import subprocess
import sys
from pathlib import Path

import botocore
import pytest

from gateleg.engine.protocol import OPERATIONS, shapes
from gateleg.engine.protocol.shapes import ListOf, MapOf, Number, Structure, TableName, Text

ROOT = Path(__file__).parents[3]
MODEL = shapes._model()


def test_the_facts_are_those_of_the_published_model() -> None:
    if MODEL["botocore"] != botocore.__version__:
        pytest.skip(f"the facts are those of botocore {MODEL['botocore']}")
    checked = subprocess.run([sys.executable, ROOT / "bench" / "request_shapes.py", "--check"], capture_output=True, text=True)
    assert (checked.returncode, checked.stderr) == (0, "")


def published_members(structure: str) -> dict[str, str]:
    """The members of a structure or of an operation's request, with their shapes."""
    shape = MODEL["shapes"][MODEL["operations"].get(structure, structure)]
    return {member.removesuffix("!"): inner for member, inner in shape["members"].items()}


def test_each_difference_from_the_model_is_one() -> None:
    same = []
    for structure, first in shapes._FIRST.items():
        members = [*published_members(structure)]
        assert set(first.split()) <= {*members}
        same += [structure] if first.split() == members[: len(first.split())] else []
    for name, values in shapes._ENUMS.items():
        assert sorted(values.split()) == sorted(MODEL["shapes"][name]["enum"])
        same += [name] if values.split() == MODEL["shapes"][name]["enum"] else []
    for name, required in shapes._REQUIRED.items():
        shape = MODEL["shapes"][MODEL["operations"][name]]
        same += [name] if {*required} == {member[:-1] for member in shape["members"] if member.endswith("!")} else []
    for name, changes in shapes._SHAPES.items():
        same += [name] if all(MODEL["shapes"][name].get(fact) == value for fact, value in changes.items()) else []
    for place, changes in shapes._MEMBERS.items():
        structure, member = place.split(".")
        kind = shapes._kind(published_members(structure)[member])
        same += [place] if all(getattr(kind, fact) == value for fact, value in changes.items()) else []
    for structure in shapes._NAMED_AMONG_MEMBERS:
        assert published_members(structure)["TableName"] == "TableArn"
    assert same == []


def test_nothing_is_read_before_the_first_request() -> None:
    code = (
        "from gateleg.engine import Engine\n"
        "from gateleg.engine.protocol import shapes\n"
        "engine = Engine(':memory:', background=False)\n"
        "assert shapes._model.cache_info().currsize == 0\n"
        "engine.call('ListTables', {})\n"
        "assert shapes._request.cache_info().currsize == 1\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_request_is_built_of_the_facts_and_the_differences() -> None:
    assert len(OPERATIONS) == len([*OPERATIONS]) == 66
    query = OPERATIONS["Query"]
    assert [*query.members][:3] == ["Select", "IndexName", "ReturnConsumedCapacity"]
    assert query.required == {"TableName"}
    assert query.members["TableName"] == TableName("member")
    assert query.members["Limit"] == Number("Integer", 1, terse=True)
    assert query.members["IndexName"] == Text(3, 255, "[a-zA-Z0-9_.-]+")
    assert isinstance(query.members["ExclusiveStartKey"], MapOf)
    assert not query.members["ExclusiveStartKey"].walked
    indexes = OPERATIONS["CreateTable"].members["GlobalSecondaryIndexes"]
    assert isinstance(indexes, ListOf)
    assert isinstance(indexes.item, Structure)
    assert isinstance(OPERATIONS["CreateTable"].members["KeySchema"], ListOf)
    assert OPERATIONS["CreateTable"].members["KeySchema"].max == 2
    assert OPERATIONS["DescribeTable"].members == {"TableName": TableName("named")}
    assert "NoSuchOperation" not in OPERATIONS
    with pytest.raises(KeyError):
        OPERATIONS["NoSuchOperation"]
