"""Tools for operators: explain access patterns and their cost, and generate documents and templates from declared tables."""

from gateleg.ops.documents import document
from gateleg.ops.explanations import Explanation, ReadCost, explain, query_cost
from gateleg.ops.operating_plan import OperatingPlan, compare_billing, operations
from gateleg.ops.templates import NotExpressible, cloudformation, create_requests, terraform
from gateleg.ops.tools import StoreTool, read_tools

__all__ = [
    "Explanation",
    "NotExpressible",
    "OperatingPlan",
    "ReadCost",
    "StoreTool",
    "cloudformation",
    "compare_billing",
    "create_requests",
    "document",
    "explain",
    "operations",
    "query_cost",
    "read_tools",
    "terraform",
]
