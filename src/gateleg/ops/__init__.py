"""Tools for operators: explain access patterns and their cost, generate documents and templates of the declared tables."""

from gateleg.ops.cost import ReadCost, query_cost
from gateleg.ops.documents import document
from gateleg.ops.explaining import Explanation, explain
from gateleg.ops.templates import NotExpressible, cloudformation, create_requests, terraform
from gateleg.ops.tools import StoreTool, read_tools

__all__ = [
    "Explanation",
    "NotExpressible",
    "ReadCost",
    "StoreTool",
    "cloudformation",
    "create_requests",
    "document",
    "explain",
    "query_cost",
    "read_tools",
    "terraform",
]
