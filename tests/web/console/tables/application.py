"""The library as an application of a host, for tests in a browser."""

from gateleg.host import Application
from tests.web.console.tables.library import library, readers

library_application = Application(
    name="library", title="Library", icon="local_library", about="Books, and who has them.", tables=(library, readers)
)
