"""What operating takes: explaining access patterns and their cost, and documents of the declared tables."""

from gateleg.ops.cost import ReadCost, query_cost
from gateleg.ops.documents import document
from gateleg.ops.explaining import Explanation, explain

__all__ = ["Explanation", "ReadCost", "document", "explain", "query_cost"]
