"""The job types that delete threads, and export and erase tenants: names, configs and results."""

from pydantic import BaseModel, ConfigDict

from gateleg.apps.agents.partitions import Partition

__all__ = ["DELETE_THREAD", "ERASE_TENANT", "EXPORT_TENANT", "DeleteThreadConfig", "EraseResult", "ExportResult", "TenantConfig"]

DELETE_THREAD, EXPORT_TENANT, ERASE_TENANT = "agents.delete-thread", "agents.export-tenant", "agents.erase-tenant"


class TenantConfig(BaseModel):
    """The tenant whose data a job exports or erases."""

    model_config = ConfigDict(extra="forbid")

    endpoint_id: str
    part_id: str

    @property
    def partition(self) -> Partition:
        """The tenant's partition."""
        return Partition(endpoint_id=self.endpoint_id, part_id=self.part_id)


class DeleteThreadConfig(TenantConfig):
    """The thread to delete."""

    thread_uuid: str


class EraseResult(BaseModel):
    """The number of deleted items by kind. A final count found none left."""

    deleted: dict[str, int]


class ExportResult(BaseModel):
    """The number of exported items by kind, and the location of the file."""

    items: dict[str, int]
    object_key: str
