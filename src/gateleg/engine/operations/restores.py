"""The definition of a restored table: what it keeps of the source, and what the request overrides."""

import uuid
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import apsw

from gateleg.engine import copy_steps
from gateleg.engine.context import Context
from gateleg.engine.copies import Copy
from gateleg.engine.errors import EngineError, validation
from gateleg.engine.operations.definition import ON_DEMAND, check_bounds, encryption
from gateleg.engine.operations.description import describe, no_items
from gateleg.engine.schema import Index, Namespace, Table

#: Starts copying the source's rows into the SQLite table of that name.
Begin = Callable[[str], Copy]

_RESTORED_SETTINGS = ("BillingMode", "ProvisionedThroughput", "OnDemandThroughput", "SSESpecification", "OnDemandSince")


def plan(source: Table, request: dict[str, Any], namespace: Namespace, now: float) -> Table:
    """The definition of the restored table. Streams, TTL, recovery, tags, protection and the table class are not restored."""
    settings = _settings(source, request)
    indexes = (
        *_indexes(source, "LSI", request.get("LocalSecondaryIndexOverride"), settings),
        *_indexes(source, "GSI", request.get("GlobalSecondaryIndexOverride"), settings),
    )
    used = set(source.keys.names).union(*(index.keys.names for index in indexes))
    return Table(
        id=0,
        uuid=str(uuid.uuid4()),
        namespace=namespace,
        name=request["TargetTableName"],
        created=now,
        definitions={name: kind for name, kind in source.definitions.items() if name in used},
        keys=source.keys,
        indexes=indexes,
        status="CREATING",
        restoring=True,
        settings=settings,
    )


def _settings(source: Table, request: dict[str, Any]) -> dict[str, Any]:
    settings = {member: source.settings[member] for member in _RESTORED_SETTINGS if member in source.settings}
    was = settings.get("BillingMode", ON_DEMAND)
    billing = settings["BillingMode"] = request.get("BillingModeOverride") or was
    throughput = request.get("ProvisionedThroughputOverride")
    if billing == ON_DEMAND:
        if throughput is not None:
            raise validation("Cannot override ProvisionedThroughput unless BillingMode is PROVISIONED")
        settings.pop("ProvisionedThroughput", None)
    elif throughput is not None:
        check_bounds(throughput)
        settings["ProvisionedThroughput"] = dict(throughput)
    elif was == ON_DEMAND:
        raise validation("Must override ProvisionedThroughput if BillingMode is overridden to PROVISIONED")
    _override_maxima(settings, request.get("OnDemandThroughputOverride"))
    if request.get("SSESpecificationOverride") is not None:
        settings.pop("SSESpecification", None)
        settings |= encryption(request["SSESpecificationOverride"])
    return settings


def _override_maxima(settings: dict[str, Any], maxima: dict[str, Any] | None) -> None:
    if settings["BillingMode"] != ON_DEMAND:
        settings.pop("OnDemandThroughput", None)
    if not maxima:
        return
    for member in ("MaxReadRequestUnits", "MaxWriteRequestUnits"):
        if maxima.get(member) == 0:
            raise validation(f"Requested {member} for OnDemandThroughput is outside of valid range")
    settings["OnDemandThroughput"] = dict(maxima)


def _indexes(source: Table, kind: str, override: list[dict[str, Any]] | None, settings: dict[str, Any]) -> Iterable[Index]:
    """The indexes to restore: all, or those that the override names. An empty override restores none."""
    had = {index.name: index for index in source.indexes if index.kind == kind}
    if override is None:
        return [_restored(index, None, settings) for index in had.values()]
    chosen = []
    for spec in override:
        index = had.get(spec["IndexName"])
        if index is None:
            raise validation(
                f"Index {spec['IndexName']} does not match a secondary index that existed in the source table "
                "and cannot be created during the restore operation"
            )
        chosen.append(_restored(index, spec, settings))
    return chosen


def _restored(index: Index, spec: dict[str, Any] | None, settings: dict[str, Any]) -> Index:
    kept = dict(index.settings)
    if spec is not None:
        kept |= {member: spec[member] for member in ("ProvisionedThroughput", "OnDemandThroughput") if spec.get(member) is not None}
    if settings["BillingMode"] == ON_DEMAND:
        kept.pop("ProvisionedThroughput", None)
    elif index.kind == "GSI":
        kept.setdefault("ProvisionedThroughput", settings["ProvisionedThroughput"])
    return replace(index, id=0, status="CREATING", settings=kept)


def check_target(context: Context, name: str) -> None:
    """Refuse to restore into an existing table."""
    table = context.catalog.find_table(context.namespace, name)
    if table is None:
        return
    summary = table.settings.get("RestoreSummary")
    if table.status == "CREATING" and summary is not None:
        origin = summary.get("SourceBackupArn") or summary["SourceTableArn"]
        raise EngineError("TableInUseException", f"Table: {name} is already being restored from backup: {origin}")
    raise EngineError("TableAlreadyExistsException", f"Table already exists: {name}")


def restore(context: Context, connection: apsw.Connection, table: Table, summary: dict[str, Any], begin: Begin) -> dict[str, Any]:
    """Create the table and start filling it. Small tables are complete at once; large ones are CREATING until they are filled."""
    table = replace(table, settings={**table.settings, "RestoreSummary": {**summary, "RestoreInProgress": True}})
    table = context.catalog.create(connection, table)
    copy_steps.begin(context.catalog, connection, begin(f"items_{table.id}"))
    return {"TableDescription": describe(table, no_items)}
