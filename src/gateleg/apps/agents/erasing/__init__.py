"""Deletes whole threads and tenants with everything that belongs to them, and exports tenants."""
