"""The embedded DynamoDB on SQLite: `Engine(path).call(operation, request)`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gateleg.engine.errors import EngineError
from gateleg.engine.schema import Namespace
from gateleg.extras import explained

if TYPE_CHECKING:
    from gateleg.engine.commit_queue import CommitQueue
    from gateleg.engine.database import Durability
    from gateleg.engine.engine import Engine
    from gateleg.engine.file_repair import repair
    from gateleg.engine.files import CLOSED
    from gateleg.engine.integrity import check_integrity, compact, has_checksums
    from gateleg.engine.sessions import boto3_session

__all__ = [
    "CLOSED",
    "CommitQueue",
    "Durability",
    "Engine",
    "EngineError",
    "Namespace",
    "boto3_session",
    "check_integrity",
    "compact",
    "has_checksums",
    "repair",
]

#: The modules of the other names. They are loaded when first asked for, so that naming an error costs no more than that.
_LAZY_NAMES = {
    "CLOSED": "files",
    "CommitQueue": "commit_queue",
    "Durability": "database",
    "Engine": "engine",
    "boto3_session": "sessions",
    "check_integrity": "integrity",
    "compact": "integrity",
    "has_checksums": "integrity",
    "repair": "file_repair",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY_NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_LAZY_NAMES[name]}"), name)
    except ModuleNotFoundError as error:
        raise explained(error) from error
