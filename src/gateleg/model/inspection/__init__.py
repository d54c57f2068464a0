"""Inspect declared tables: `describe(table)` returns plain data for documents, `lint(table)` lists probable mistakes, and
`refused_object_keys(item)` names the attributes in which another program has stored something else than an object key.
"""

from gateleg.model.inspection.description import describe
from gateleg.model.inspection.findings import Finding
from gateleg.model.inspection.linter import few_partitions, lint
from gateleg.model.inspection.object_keys import is_refused, refused_object_keys

__all__ = ["Finding", "describe", "few_partitions", "is_refused", "lint", "refused_object_keys"]
