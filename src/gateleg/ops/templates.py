"""Declared tables as CloudFormation and Terraform templates, and as CreateTable requests."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gateleg.errors import GatelegError
from gateleg.migrate import Capacity, TableSettings, declared_shape
from gateleg.migrate.shapes import create_table
from gateleg.store.setup import Setup

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gateleg.migrate import TableShape
    from gateleg.migrate.shapes import IndexShape
    from gateleg.model import Table

Document = dict[str, Any]
_DEFAULT = TableSettings()


class NotExpressible(GatelegError, ValueError):
    """The tool's language cannot express the table."""

    fix = "Use CloudFormation."
    status = 422


def create_requests(
    tables: Iterable[Table], settings: TableSettings = _DEFAULT, prefix: str = "", table_names: Mapping[str, str] | None = None
) -> list[Document]:
    """The CreateTable requests, each as input for `aws dynamodb create-table --cli-input-json`."""
    return [create_table(_shape(table, prefix, table_names), settings).request for table in tables]


def _shape(table: Table, prefix: str, table_names: Mapping[str, str] | None) -> TableShape:
    """The shape of a declared table, under the name that a store with this prefix and these table names uses."""
    return declared_shape(table, name=Setup(prefix=prefix, table_names=table_names or {}).name_of(table))


def cloudformation(
    tables: Iterable[Table], settings: TableSettings = _DEFAULT, prefix: str = "", table_names: Mapping[str, str] | None = None
) -> Document:
    """A CloudFormation template. Tables are retained when they are removed from the stack, or when the stack is deleted."""
    resources: dict[str, Document] = {}
    for table in tables:
        shape = _shape(table, prefix, table_names)
        properties = create_table(shape, settings).request
        if shape.stream is not None:
            properties["StreamSpecification"] = {"StreamViewType": shape.stream}
        if shape.ttl is not None:
            properties["TimeToLiveSpecification"] = {"AttributeName": shape.ttl, "Enabled": True}
        if settings.recoverable is not None:
            properties["PointInTimeRecoverySpecification"] = {"PointInTimeRecoveryEnabled": settings.recoverable}
        resource = {"Type": "AWS::DynamoDB::Table", "DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain", "Properties": properties}
        resources[_unused(_camel(table.name), resources)] = resource
    return {"AWSTemplateFormatVersion": "2010-09-09", "Resources": resources}


def terraform(
    tables: Iterable[Table], settings: TableSettings = _DEFAULT, prefix: str = "", table_names: Mapping[str, str] | None = None
) -> Document:
    """Resources of Terraform's AWS provider in JSON syntax, for a .tf.json file."""
    resources: dict[str, Document] = {}
    for table in tables:
        resources[_unused(_snake(table.name), resources)] = _terraform_table(_shape(table, prefix, table_names), settings)
    return {"resource": {"aws_dynamodb_table": resources}}


def _terraform_table(shape: TableShape, settings: TableSettings) -> Document:
    capacity = settings.billing if isinstance(settings.billing, Capacity) else None
    indexes = (*shape.globals.values(), *shape.locals.values())
    types = {key.name: key.type for keys in (shape.keys, *(index.keys for index in indexes)) for key in keys}
    resource: Document = {"name": shape.name, "billing_mode": "PROVISIONED" if capacity else "PAY_PER_REQUEST"}
    resource |= _keys(shape.name, shape.keys) | _units(capacity)
    resource["attribute"] = [{"name": name, "type": types[name]} for name in sorted(types)]
    if shape.globals:
        resource["global_secondary_index"] = [_index(index) | _units(capacity) for index in shape.globals.values()]
    if shape.locals:
        # A local index shares the table's hash key, which is not repeated here.
        local = [_index(index) for index in shape.locals.values()]
        resource["local_secondary_index"] = [{name: value for name, value in index.items() if name != "hash_key"} for index in local]
    if shape.stream is not None:
        resource |= {"stream_enabled": True, "stream_view_type": shape.stream}
    if shape.ttl is not None:
        resource["ttl"] = {"attribute_name": shape.ttl, "enabled": True}
    if settings.protected is not None:
        resource["deletion_protection_enabled"] = settings.protected
    if settings.recoverable is not None:
        resource["point_in_time_recovery"] = {"enabled": settings.recoverable}
    if settings.tags:
        resource["tags"] = dict(settings.tags)
    return resource | {"lifecycle": {"prevent_destroy": True}}


def _index(index: IndexShape) -> Document:
    found = {"name": index.name, **_keys(index.name, index.keys), "projection_type": index.projection}
    return found | ({"non_key_attributes": sorted(index.include)} if index.include else {})


def _keys(name: str, keys: Iterable[Any]) -> Document:
    found: Document = {}
    for key in keys:
        member = "hash_key" if key.role == "HASH" else "range_key"
        if member in found:
            raise NotExpressible(f"{name} has a key of several attributes, which Terraform templates here cannot express.")
        found[member] = key.name
    return found


def _units(capacity: Capacity | None) -> Document:
    return {"read_capacity": capacity.read, "write_capacity": capacity.write} if capacity is not None else {}


def _camel(name: str) -> str:
    return "".join(part[0].upper() + part[1:] for part in re.split(r"[^A-Za-z0-9]+", name) if part) or "Table"


def _snake(name: str) -> str:
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    text = re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")
    return text if text[:1].isalpha() else f"table_{text}"


def _unused(name: str, taken: Document) -> str:
    """The name, or its first free numbered form."""
    number, found = 1, name
    while found in taken:
        number, found = number + 1, f"{name}{number + 1}"
    return found
