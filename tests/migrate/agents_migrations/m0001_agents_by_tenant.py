"""Agents get a composite key."""

from gateleg.migrate import Migration
from tests.migrate.moves.layouts import agents_move

migration = Migration(1, "agents-by-tenant", "Agents get a composite key", moves=(agents_move,))
