"""An application with a migration, for tests of hosts and of the command line."""

from gateleg.host import Application
from tests.migrate.moves.layouts import new_agents

application = Application("agency", "Agency", "support_agent", tables=(new_agents,), migrations="tests.migrate.agents_migrations")
