"""The jobs that delete threads, and export and erase tenants: their names, what they are asked for and what they answer."""

from pydantic import BaseModel, ConfigDict

from gateleg.apps.agents.tenancy import Partition

__all__ = ["DELETE_THREAD", "ERASE_TENANT", "EXPORT_TENANT", "DeleteThreadConfig", "EraseResult", "ExportResult", "TenantConfig"]

DELETE_THREAD, EXPORT_TENANT, ERASE_TENANT = "agents.delete-thread", "agents.export-tenant", "agents.erase-tenant"


class TenantConfig(BaseModel):
    """Whose data a job works on."""

    model_config = ConfigDict(extra="forbid")

    endpoint_id: str
    part_id: str

    @property
    def partition(self) -> Partition:
        """The tenant's partition."""
        return Partition(endpoint_id=self.endpoint_id, part_id=self.part_id)


class DeleteThreadConfig(TenantConfig):
    """Which thread is deleted."""

    thread_uuid: str


class EraseResult(BaseModel):
    """What was deleted, by kind. Nothing of it was left when it was counted at the end."""

    deleted: dict[str, int]


class ExportResult(BaseModel):
    """What was written to a file, by kind, and where that is."""

    items: dict[str, int]
    object_key: str
