"""Gateleg: build DynamoDB applications in Python that run embedded in one process or on Amazon DynamoDB, unchanged."""

__version__ = "0.1.0"
