"""Inspect declared tables: `describe(table)` returns plain data for documents, `lint(table)` lists probable mistakes."""

from gateleg.model.inspection.description import describe
from gateleg.model.inspection.findings import Finding
from gateleg.model.inspection.linter import few_partitions, lint

__all__ = ["Finding", "describe", "few_partitions", "lint"]
