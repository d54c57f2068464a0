from tests.apps.agents.web.conftest import scripts, served

__all__ = ["scripts", "served"]
