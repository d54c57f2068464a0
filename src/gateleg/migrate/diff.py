"""Compare declared with deployed tables and derive the steps between them. Pure; I/O is in `inspection` and `execution`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.migrate.migrations import Plan, Step
from gateleg.migrate.shapes import Capacity, TableSettings, create_table, enable_recovery, enable_ttl, index_steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateleg.migrate.shapes import Deployed, IndexShape, KeyElement, TableShape, Wire

_SLOW_TTL = "DynamoDB may take an hour to change the attribute; apply again then if it refuses."


def plan_table(wanted: TableShape, deployed: Deployed | None, settings: TableSettings | None = None, *, replace: bool = False) -> Plan:
    """The plan from the deployed to the wanted table. With `replace`, a table that cannot be changed is deleted and created again."""
    settings = settings or TableSettings()
    if deployed is None:
        return Plan(wanted.name, exists=False, steps=tuple(_creation(wanted, settings)))
    rebuild = tuple(_rebuild(wanted, deployed.shape))
    notes = tuple(_notes(wanted, deployed, settings))
    if not rebuild:
        return Plan(wanted.name, True, tuple(_changes(wanted, deployed, settings)), (), notes, deployed.items)
    if not replace:
        return Plan(wanted.name, True, (), rebuild, notes, deployed.items)
    steps = (*_release(deployed.shape), _delete(deployed), *_creation(wanted, settings))
    return Plan(wanted.name, True, steps, rebuild, notes, deployed.items)


def _creation(wanted: TableShape, settings: TableSettings) -> Iterator[Step]:
    yield create_table(wanted, settings)
    if wanted.ttl is not None:
        yield enable_ttl(wanted.name, wanted.ttl)
    if settings.recoverable:
        yield enable_recovery(wanted.name)


def _delete(deployed: Deployed) -> Step:
    name = deployed.shape.name
    loses = f"All items of {name} (about {deployed.items:,}); a backup is made first where the service offers backups."
    return Step(name, "delete-table", "delete the table, after a backup", "DeleteTable", {"TableName": name}, loses)


def _release(deployed: TableShape) -> Iterator[Step]:
    if deployed.protected:
        yield _protection(deployed.name, wanted=False)


def _rebuild(wanted: TableShape, deployed: TableShape) -> Iterator[str]:
    """The differences that UpdateTable cannot resolve."""
    if [(key.name, key.role) for key in wanted.keys] != [(key.name, key.role) for key in deployed.keys]:
        yield f"the key is {_names(deployed.keys)}, declared is {_names(wanted.keys)}"
    else:
        for want, have in zip(wanted.keys, deployed.keys, strict=True):
            if want.type != have.type:
                yield f"the key attribute {want.name} has the type {have.type}, declared is {want.type}"
    for name in sorted({*wanted.locals, *deployed.locals}):
        want_index, have_index = wanted.locals.get(name), deployed.locals.get(name)
        if have_index is None:
            yield f"the local index {want_index} is missing, and local indexes are made with their table"
        elif want_index is None:
            yield f"the local index {have_index} is not declared, and local indexes go only with their table"
        elif want_index != have_index:
            yield f"the local index {name} is {_described(have_index)}, declared is {_described(want_index)}"


def _names(keys: tuple[KeyElement, ...]) -> str:
    return f"({', '.join(key.name for key in keys)})"


def _described(index: IndexShape) -> str:
    types = ", ".join(f"{key.name} {key.type}" for key in index.keys)
    return f"on {types}, projecting {', '.join(sorted(index.include)) or index.projection}"


def _notes(wanted: TableShape, deployed: Deployed, settings: TableSettings) -> Iterator[str]:
    if wanted.ttl is not None and not deployed.expires:
        yield f"the service does not let items expire; {wanted.ttl} has no effect"
    if settings.recoverable and deployed.shape.recoverable is None:
        yield "the service does not say whether it offers point-in-time recovery; it is left as it is"
    if settings.tags and deployed.shape.tags is None:
        yield "the service does not return the table's tags; they are left as they are"


def _changes(wanted: TableShape, deployed: Deployed, settings: TableSettings) -> Iterator[Step]:
    have = deployed.shape
    yield from _billing(have, settings)
    yield from index_steps(wanted, have, settings)
    yield from _stream(wanted, have)
    if deployed.expires:
        yield from _ttl(wanted, have)
    if settings.protected is not None and settings.protected != have.protected:
        yield _protection(have.name, settings.protected)
    if have.recoverable is not None and settings.recoverable not in (None, have.recoverable):
        yield enable_recovery(have.name) if settings.recoverable else _disable_recovery(have.name)
    yield from _tags(deployed, settings)


def _billing(have: TableShape, settings: TableSettings) -> Iterator[Step]:
    name = have.name
    if settings.billing == "on-demand" and have.capacity is not None:
        request: Wire = {"TableName": name, "BillingMode": "PAY_PER_REQUEST"}
        yield Step(name, "change-billing", f"bill by request instead of {have.capacity}", "UpdateTable", request)
    if isinstance(settings.billing, Capacity):
        request = _provisioning(have, settings.billing)
        if len(request) > 1:
            yield Step(name, "change-billing", f"provision {settings.billing}", "UpdateTable", request)


def _provisioning(have: TableShape, capacity: Capacity) -> Wire:
    """The request for this capacity of the table and its indexes, without those that have it; DynamoDB refuses unchanged values."""
    request: Wire = {"TableName": have.name}
    if have.capacity is None:
        request["BillingMode"] = "PROVISIONED"
    if have.capacity != capacity:
        request["ProvisionedThroughput"] = capacity.wire()
    updates = [
        {"Update": {"IndexName": index.name, "ProvisionedThroughput": capacity.wire()}}
        for index in have.globals.values()
        if have.capacity is None or index.capacity != capacity
    ]
    return request | ({"GlobalSecondaryIndexUpdates": updates} if updates else {})


def _stream(wanted: TableShape, have: TableShape) -> Iterator[Step]:
    if wanted.stream == have.stream:
        return
    if have.stream is not None:
        yield Step(
            have.name,
            "change-stream",
            f"stop the stream of {have.stream}",
            "UpdateTable",
            {"TableName": have.name, "StreamSpecification": {"StreamEnabled": False}},
            loses=f"Whatever reads the stream of {have.name} sees no further changes.",
        )
    if wanted.stream is not None:
        specification = {"StreamEnabled": True, "StreamViewType": wanted.stream}
        request = {"TableName": have.name, "StreamSpecification": specification}
        yield Step(have.name, "change-stream", f"start a stream of {wanted.stream}", "UpdateTable", request)


def _ttl(wanted: TableShape, have: TableShape) -> Iterator[Step]:
    if wanted.ttl == have.ttl:
        return
    if have.ttl is not None:
        request: Wire = {"TableName": have.name, "TimeToLiveSpecification": {"Enabled": False, "AttributeName": have.ttl}}
        note = _SLOW_TTL if wanted.ttl else ""
        yield Step(have.name, "change-ttl", f"stop items from expiring by {have.ttl}", "UpdateTimeToLive", request, note=note)
    if wanted.ttl is not None:
        yield enable_ttl(have.name, wanted.ttl)


def _protection(name: str, wanted: bool) -> Step:
    title = "protect the table from deletion" if wanted else "let the table be deleted"
    loses = "" if wanted else f"{name} is no longer protected from deletion."
    return Step(name, "change-protection", title, "UpdateTable", {"TableName": name, "DeletionProtectionEnabled": wanted}, loses)


def _disable_recovery(name: str) -> Step:
    request = {"TableName": name, "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": False}}
    loses = f"The past of {name} cannot be restored any more."
    return Step(name, "change-recovery", "stop point-in-time recovery", "UpdateContinuousBackups", request, loses)


def _tags(deployed: Deployed, settings: TableSettings) -> Iterator[Step]:
    have = deployed.shape.tags
    if have is None:
        return
    missing = {key: value for key, value in settings.tags.items() if have.get(key) != value}
    if missing:
        tags = [{"Key": key, "Value": value} for key, value in missing.items()]
        title = f"tag it with {', '.join(f'{key}={value}' for key, value in missing.items())}"
        yield Step(deployed.shape.name, "change-tags", title, "TagResource", {"ResourceArn": deployed.arn, "Tags": tags})
