"""The application of these tests, as a command finds it: `--app tests.host.band:application`."""

from tests.web.sample import make_application

application = make_application()
