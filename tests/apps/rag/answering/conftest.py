from tests.apps.rag.searching.conftest import manual, models, remembered, tools

__all__ = ["manual", "models", "remembered", "tools"]
