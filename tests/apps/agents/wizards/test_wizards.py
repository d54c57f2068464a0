"""Elements, wizards, groups and filters: all or nothing, valid, and chosen by region, criteria and weight."""

import asyncio
from typing import Any

import pytest

from gateleg.apps.agents.catalogue import delete_wizard_schema, save_wizard_schema
from gateleg.apps.agents.errors import BadField, BadWizard, MissingField, NotFoundInPartition, StillUsed, TooManyAtOnce, UnknownReference
from gateleg.apps.agents.listing import Paging
from gateleg.apps.agents.tables import Wizard, WizardElement, WizardGroup
from gateleg.apps.agents.tenancy import Context
from gateleg.apps.agents.wizards.checks import LONGEST_ANSWER
from gateleg.apps.agents.wizards.choice import (
    choose_wizard_groups,
    delete_wizard_group_filter,
    find_wizard_group_filter,
    list_wizard_group_filters,
    save_wizard_group_filter,
)
from gateleg.apps.agents.wizards.forms import (
    check_answers,
    delete_element,
    delete_wizard,
    find_element,
    find_wizard,
    list_elements,
    list_wizards,
    save_element,
    save_wizard,
)
from gateleg.apps.agents.wizards.groups import (
    delete_wizard_from_wizard_group,
    delete_wizard_group,
    find_wizard_group,
    list_wizard_groups,
    save_wizard_group,
    save_wizard_group_with_wizards,
)
from gateleg.store import AsyncStore
from tests.apps.agents.conftest import Interleaving

ELEMENT = {"data_type": "text", "element_title": "Your mail", "attribute_name": "mail", "attribute_type": "string"}
WIZARD = {"wizard_title": "Contact", "wizard_type": "form", "wizard_schema_type": "crm", "wizard_schema_name": "contact"}
ALL = Paging()


@pytest.fixture(autouse=True)
async def schema(store: AsyncStore, admin: Context) -> None:
    attributes = [
        {"name": "color", "attribute_type": "string", "required": True, "options": ["red", {"value": "blue", "label": "Blue"}]},
        {"name": "columns", "attribute_type": "integer"},
        {"name": "code", "attribute_type": "string", "pattern": "[A-Z]{3}"},
    ]
    await save_wizard_schema(store, admin, {"wizard_schema_type": "crm", "wizard_schema_name": "contact", "attributes": attributes})


def wizard(*elements: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {**WIZARD, "wizard_attributes": [{"name": "color", "value": "red"}], "wizard_elements": list(elements), **changes}


async def count(store: AsyncStore, context: Context, entity: Any) -> int:
    return await store.count(entity.in_partition, partition=context.partition)


@pytest.mark.parametrize(
    ("attributes", "problems"),
    [
        ({}, {"color": "is required"}),
        ({"color": "green"}, {"color": "must be one of red, blue"}),
        ({"color": "blue", "columns": "3"}, {"columns": "must be of the type integer"}),
        ({"color": "blue", "code": "abc"}, {"code": "does not match its pattern"}),
        ({"color": "blue", "size": 3}, {"size": "is not an attribute of the schema"}),
        ({"color": "blue", "columns": 3, "code": "ABC"}, None),
    ],
)
async def test_a_wizard_matches_its_schema(store: AsyncStore, ann: Context, attributes: Any, problems: Any) -> None:
    values = wizard(wizard_attributes=[{"name": name, "value": value} for name, value in attributes.items()])
    if problems is None:
        assert (await save_wizard(store, ann, values)).wizard_attributes == values["wizard_attributes"]
        return
    with pytest.raises(BadWizard) as refused:
        await save_wizard(store, ann, values)
    assert refused.value.details["attributes"] == problems


async def test_a_wizard_names_only_what_exists_and_holds_it(store: AsyncStore, ann: Context, admin: Context) -> None:
    with pytest.raises(UnknownReference, match="element 'none'"):
        await save_wizard(store, ann, wizard({"element_uuid": "none"}))
    with pytest.raises(UnknownReference, match="wizard schema"):
        await save_wizard(store, ann, wizard(wizard_schema_name="none"))
    element = await save_element(store, ann, ELEMENT)
    made = await save_wizard(store, ann, wizard({"element_uuid": element.element_uuid, "required": True}))
    with pytest.raises(StillUsed):
        await delete_element(store, ann, element.element_uuid)
    with pytest.raises(StillUsed):
        await delete_wizard_schema(store, admin, "crm", "contact")
    changed = await save_wizard(store, ann, {"wizard_uuid": made.wizard_uuid, "wizard_elements": []})
    assert (changed.wizard_title, changed.wizard_elements) == ("Contact", [])
    assert await delete_element(store, ann, element.element_uuid)
    assert await delete_wizard(store, ann, made.wizard_uuid)
    assert await delete_wizard_schema(store, admin, "crm", "contact")


async def test_elements_have_patterns_and_conditions_that_can_be_used(store: AsyncStore, ann: Context) -> None:
    for wrong in (
        {"pattern": "(a+"},
        {"conditions": [{"operator": "equals"}]},
        {"conditions": [{"attribute_name": "a", "operator": "eval"}]},
    ):
        with pytest.raises(BadField):
            await save_element(store, ann, {**ELEMENT, **wrong})
    with pytest.raises(MissingField, match="data_type"):
        await save_element(store, ann, {"element_title": "x"})


async def test_answers_are_checked_by_element(store: AsyncStore, ann: Context) -> None:
    mail = await save_element(store, ann, {**ELEMENT, "pattern": r"[^@]+@[^@]+"})
    kind = {**ELEMENT, "attribute_name": "kind", "option_values": [{"value": "private"}, {"value": "business"}]}
    company = {
        **ELEMENT,
        "attribute_name": "company",
        "conditions": [{"attribute_name": "kind", "operator": "equals", "value": "business"}],
    }
    uuids = [mail.element_uuid, *[(await save_element(store, ann, values)).element_uuid for values in (kind, company)]]
    made = await save_wizard(store, ann, wizard(*({"element_uuid": uuid, "required": True} for uuid in uuids)))
    await check_answers(store, ann, made.wizard_uuid, {"mail": "a@b", "kind": "private"})
    await check_answers(store, ann, made.wizard_uuid, {"mail": "a@b", "kind": "business", "company": "Acme"})
    wrong: list[tuple[dict[str, Any], dict[str, str]]] = [
        ({"kind": "private"}, {"mail": "must be answered"}),
        ({"mail": "a", "kind": "private"}, {"mail": "does not match its pattern"}),
        ({"mail": "a@b", "kind": "other"}, {"kind": "must be one of private, business"}),
        ({"mail": "a@b", "kind": "business"}, {"company": "must be answered"}),
        ({"mail": "a@b", "kind": "private", "company": "Acme"}, {"company": "is not asked"}),
        ({"mail": 5, "kind": "private"}, {"mail": "must be of the type string"}),
    ]
    for answers, problems in wrong:
        with pytest.raises(BadWizard) as refused:
            await check_answers(store, ann, made.wizard_uuid, answers)
        assert refused.value.details["answers"] == problems


async def test_a_pattern_that_takes_for_ever_is_named(store: AsyncStore, ann: Context) -> None:
    bomb = await save_element(store, ann, {**ELEMENT, "pattern": "a?" * 40 + "a" * 40})
    made = await save_wizard(store, ann, wizard({"element_uuid": bomb.element_uuid, "required": True}))
    with pytest.raises(BadWizard, match="takes too long") as refused:
        await check_answers(store, ann, made.wizard_uuid, {"mail": "a" * 40})
    assert list(refused.value.details["answers"]) == ["mail"]


async def test_long_answers_match_no_pattern(store: AsyncStore, ann: Context) -> None:
    word = await save_element(store, ann, {**ELEMENT, "pattern": "a*"})
    made = await save_wizard(store, ann, wizard({"element_uuid": word.element_uuid, "required": True}))
    await check_answers(store, ann, made.wizard_uuid, {"mail": "a" * LONGEST_ANSWER})
    with pytest.raises(BadWizard, match="does not match its pattern"):
        await check_answers(store, ann, made.wizard_uuid, {"mail": "a" * (LONGEST_ANSWER + 1)})


GROUP = {"wizard_group_name": "Welcome"}


async def test_a_group_is_written_with_its_wizards_and_elements_without_weights_and_priorities(store: AsyncStore, ann: Context) -> None:
    entry = {"element": ELEMENT, "required": True, "placeholder": "you@example.com"}
    group = await save_wizard_group_with_wizards(store, ann, {**GROUP, "wizards": [wizard(entry), wizard(wizard_title="More")]})
    assert (group.weight, len(group.wizard_uuids)) == (0, 2)
    first = await find_wizard(store, ann, group.wizard_uuids[0])
    assert first is not None
    (named,) = first.wizard_elements
    assert (named["required"], named["placeholder"]) == (True, "you@example.com")
    element = await find_element(store, ann, named["element_uuid"])
    assert element is not None
    assert (element.attribute_name, element.reference_count, first.reference_count) == ("mail", 1, 1)


async def test_a_group_that_fails_leaves_nothing_behind(store: AsyncStore, ann: Context) -> None:
    entry = {"element": ELEMENT}
    bad: list[tuple[type[Exception], dict[str, Any]]] = [
        (BadWizard, wizard(entry, wizard_attributes=[])),
        (MissingField, {**wizard(entry), "wizard_title": None}),
        (NotFoundInPartition, wizard({"element_uuid": "none"})),
        (NotFoundInPartition, wizard(wizard_uuid="none")),
        (BadField, wizard({"element": {**ELEMENT, "pattern": "("}})),
        (BadField, wizard({"element": {**ELEMENT, "unheard_of": 1}})),
    ]
    for kind, wrong in bad:
        with pytest.raises(kind):
            await save_wizard_group_with_wizards(store, ann, {**GROUP, "wizards": [wizard(entry), wrong]})
    with pytest.raises(MissingField):
        await save_wizard_group_with_wizards(store, ann, {"wizards": [wizard(entry)]})
    assert [await count(store, ann, entity) for entity in (WizardGroup, Wizard, WizardElement)] == [0, 0, 0]


async def test_more_than_a_transaction_holds_is_refused_clearly_and_whole(store: AsyncStore, ann: Context) -> None:
    fits: dict[str, Any] = {
        **GROUP,
        "wizards": [wizard(*({"element": {**ELEMENT, "attribute_name": f"a{n}"}} for n in range(9))) for _ in range(9)],
    }
    assert len((await save_wizard_group_with_wizards(store, ann, fits)).wizard_uuids) == 9
    before = await count(store, ann, WizardElement)
    fits["wizards"] += [wizard(*({"element": ELEMENT} for _ in range(9)))]
    with pytest.raises(TooManyAtOnce, match="102 writes in one transaction; the limit is 100"):
        await save_wizard_group_with_wizards(store, ann, fits)
    assert await count(store, ann, WizardElement) == before


async def test_wizards_that_are_no_longer_listed_go_with_their_elements(store: AsyncStore, ann: Context) -> None:
    shared = await save_element(store, ann, ELEMENT)
    other = await save_wizard(store, ann, wizard({"element_uuid": shared.element_uuid}))
    own = {"element": {**ELEMENT, "attribute_name": "own"}}
    wizards = [wizard(own, {"element_uuid": shared.element_uuid}), wizard(own, wizard_title="Second")]
    group = await save_wizard_group_with_wizards(store, ann, {**GROUP, "wizards": wizards})
    first, second = group.wizard_uuids
    kept = await find_wizard(store, ann, second)
    assert kept is not None
    changed = {"wizard_uuid": second, "wizard_title": "Renamed", "wizard_elements": kept.wizard_elements}
    again = await save_wizard_group_with_wizards(store, ann, {"wizard_group_uuid": group.wizard_group_uuid, "wizards": [changed]})
    assert (again.wizard_uuids, again.wizard_group_name) == ([second], "Welcome")
    renamed = await find_wizard(store, ann, second)
    assert renamed is not None
    assert (renamed.wizard_title, renamed.wizard_elements) == ("Renamed", kept.wizard_elements)
    assert await find_wizard(store, ann, first) is None
    assert {one.element_uuid for one in (await list_elements(store, ann, ALL)).items} == {
        shared.element_uuid,
        kept.wizard_elements[0]["element_uuid"],
    }
    still = await find_element(store, ann, shared.element_uuid)
    assert still is not None
    assert still.reference_count == 1
    assert await find_wizard(store, ann, other.wizard_uuid) == other


async def test_a_wizard_is_taken_out_of_a_group_and_stays_where_another_has_it(store: AsyncStore, ann: Context) -> None:
    group = await save_wizard_group_with_wizards(store, ann, {**GROUP, "wizards": [wizard({"element": ELEMENT}), wizard()]})
    first, second = group.wizard_uuids
    other = await save_wizard_group(store, ann, {**GROUP, "wizard_uuids": [second]})
    assert await delete_wizard_from_wizard_group(store, ann, group.wizard_group_uuid, first)
    assert not await delete_wizard_from_wizard_group(store, ann, group.wizard_group_uuid, first)
    assert await delete_wizard_from_wizard_group(store, ann, group.wizard_group_uuid, second)
    assert await find_wizard(store, ann, first) is None
    assert await find_wizard(store, ann, second) is not None
    assert await count(store, ann, WizardElement) == 0
    with pytest.raises(StillUsed):
        await delete_wizard(store, ann, second)
    assert await delete_wizard_group(store, ann, other.wizard_group_uuid)
    assert await delete_wizard(store, ann, second)


async def test_two_changes_of_a_group_at_once_are_one_after_the_other(store: AsyncStore, network: Interleaving, ann: Context) -> None:
    group = await save_wizard_group_with_wizards(store, ann, {**GROUP, "wizards": [wizard({"element": ELEMENT})]})
    many = store.using(network)
    values = {"wizard_group_uuid": group.wizard_group_uuid, "wizards": [wizard({"element": ELEMENT})]}
    await asyncio.gather(*(save_wizard_group_with_wizards(many, ann, values) for _ in range(4)))
    assert [await count(store, ann, entity) for entity in (WizardGroup, Wizard, WizardElement)] == [1, 1, 1]


async def test_groups_are_chosen_by_region_criteria_and_weight(store: AsyncStore, ann: Context, eve: Context) -> None:
    groups = {
        name: await save_wizard_group(store, ann, {"wizard_group_name": name, "weight": weight})
        for name, weight in (("a", 1), ("b", 2), ("c", 3))
    }

    async def add(name: str, region: str, weight: float = 0, **criteria: Any) -> None:
        values = {"wizard_group_filter_name": name, "region": region, "weight": weight, "criteria": criteria}
        await save_wizard_group_filter(store, ann, {**values, "wizard_group_uuid": groups[name].wizard_group_uuid})

    await add("a", "EU", 10, tier=["gold", "silver"], age={"min": 18})
    await add("b", "*", 5)
    await add("b", "eu", 1)
    await add("c", "us", 99)
    await add("c", "eu", 5, tier="gold")
    chosen = await choose_wizard_groups(store, ann, "eu", {"tier": "Gold", "age": 30})
    assert [(one.group.wizard_group_name, one.by.weight) for one in chosen] == [("a", 10), ("c", 5), ("b", 5)]
    assert [one.group.wizard_group_name for one in await choose_wizard_groups(store, ann, "EU", {"tier": "silver", "age": 17})] == ["b"]
    assert [one.group.wizard_group_name for one in await choose_wizard_groups(store, ann, "us", {}, limit=1)] == ["c"]
    assert await choose_wizard_groups(store, eve, "eu", {}) == []


async def test_filters_name_groups_that_exist_and_hold_them(store: AsyncStore, ann: Context) -> None:
    values = {"wizard_group_filter_name": "F", "region": "eu"}
    with pytest.raises(UnknownReference):
        await save_wizard_group_filter(store, ann, {**values, "wizard_group_uuid": "none"})
    with pytest.raises(BadField):
        await save_wizard_group_filter(store, ann, {**values, "criteria": {"tier": {"operator": "eval"}}})
    group = await save_wizard_group(store, ann, GROUP)
    one = await save_wizard_group_filter(store, ann, {**values, "wizard_group_uuid": group.wizard_group_uuid})
    with pytest.raises(StillUsed):
        await delete_wizard_group(store, ann, group.wizard_group_uuid)
    changed = await save_wizard_group_filter(store, ann, {"wizard_group_filter_uuid": one.wizard_group_filter_uuid, "region": "us"})
    assert (changed.region, changed.wizard_group_uuid) == ("us", group.wizard_group_uuid)
    listed = await list_wizard_group_filters(store, ann, ALL, wizard_group_uuid=group.wizard_group_uuid)
    assert listed.items == [changed]
    assert await delete_wizard_group_filter(store, ann, one.wizard_group_filter_uuid)
    assert await find_wizard_group_filter(store, ann, one.wizard_group_filter_uuid) is None
    assert await delete_wizard_group(store, ann, group.wizard_group_uuid)


async def test_lists_of_wizards(store: AsyncStore, ann: Context) -> None:
    await save_element(store, ann, ELEMENT)
    await save_element(store, ann, {**ELEMENT, "data_type": "number"})
    for page in (1, 2):
        # The second page of an index fails where its own key is not read.
        found = await list_elements(store, ann, Paging(limit=1, page_number=page), data_type="number")
        assert len(found.items) == 2 - page
    await save_wizard(store, ann, wizard())
    assert len((await list_wizards(store, ann, ALL, wizard_type="form", wizard_title="Contact")).items) == 1
    group = await save_wizard_group(store, ann, GROUP)
    assert (await list_wizard_groups(store, ann, ALL, wizard_group_name="Welcome")).items == [group]
    assert await find_wizard_group(store, ann, group.wizard_group_uuid) == group
