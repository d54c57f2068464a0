"""Customers are found by their city."""

from gateleg.migrate import Migration
from tests.web.console.migrations.shop import Customer, customers

migration = Migration(1, "customers-by-city", "Customers are found by their city", tables=(customers,), rewrites=(Customer,))
