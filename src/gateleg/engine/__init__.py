"""The embedded DynamoDB on SQLite: `Engine(path).call(operation, request)`."""

from gateleg.engine.engine import Engine
from gateleg.engine.errors import EngineError
from gateleg.engine.schema import Realm

__all__ = ["Engine", "EngineError", "Realm"]
