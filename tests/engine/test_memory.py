"""What an engine remembers of requests stays small, however long their texts are."""

import base64

from gateleg.engine import keys
from gateleg.engine.expressions import conditions
from gateleg.engine.expressions.prepare import _request_plans
from gateleg.engine.protocol.check import cached_test
from gateleg.engine.values import canonical_number as canonical
from tests.engine.world import World, text


def test_of_numbers_written_with_endless_zeros_at_most_one_is_kept() -> None:
    for zeros in range(300, 310):
        assert canonical(f"1.{'0' * zeros}") == "1"
    assert canonical.cache_info().currsize == 1


def test_long_binaries_are_not_kept_when_they_were_compared(world: World) -> None:
    world.create("a")
    long = base64.b64encode(bytes(5000)).decode()
    world.put({"a": {"S": "x"}, "b": {"B": long}})
    before = conditions._cached_decode.cache_info().currsize
    found = world.items(FilterExpression="b > :b", ExpressionAttributeValues={":b": {"B": long[:-4]}})
    assert [item["a"] for item in found] == [{"S": "x"}]
    assert conditions._cached_decode.cache_info().currsize == before


def test_the_test_of_a_long_text_is_not_remembered() -> None:
    asked: list[str] = []

    def proper(given: str) -> bool:
        asked.append(given)
        return True

    test = cached_test(proper, 10)
    assert [test("short"), test("short"), test("x" * 5000)] == [True, True, False]
    assert asked == ["short"]


def test_what_belongs_to_long_names_is_not_kept(world: World) -> None:
    world.create("a")
    before = len(_request_plans)
    for number in range(3):
        request = {"UpdateExpression": "SET #n = :v", "ExpressionAttributeValues": text(**{":v": "1"})}
        names = {"#n": "x" * 9000 + str(number)}
        world.call("UpdateItem", TableName="Music", Key=text(a="1"), ExpressionAttributeNames=names, **request)
    assert len(_request_plans) <= before
    (layout,) = world.engine.catalog.cached_layouts()
    layout.affected_indexes(frozenset({"x" * 9000}))
    assert layout._affected_indexes == {}
    assert len(world.items()[0]) == 4


def test_texts_that_are_too_long_for_a_key_are_not_kept_as_keys() -> None:
    for number in range(5):
        keys._text_partition_prefix("x" * 5000 + str(number))
    assert keys._text_partition_prefix.cache_info().currsize == 1
