"""Gateleg: DynamoDB applications in Python, folded into one process or opened on Amazon DynamoDB."""

__version__ = "0.1.0"
