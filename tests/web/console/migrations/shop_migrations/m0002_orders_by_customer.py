"""Orders and their lines are stored under the customer."""

from gateleg.migrate import Migration
from tests.web.console.migrations.shop import lines_move, orders_move

migration = Migration(2, "orders-by-customer", "Orders and their lines are stored under the customer", moves=(orders_move, lines_move))
