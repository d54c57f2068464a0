"""The engine over HTTP: the DynamoDB JSON protocol, for boto3, the AWS CLI and every other SDK."""

from gateleg.endpoint.dispatcher import Backend, BadOrigin, EndpointOptions, OpenToAll
from gateleg.endpoint.http import Limits
from gateleg.endpoint.server import Server, serve_from_processes, serve_in_thread, serve_until_signal
from gateleg.engine.commit_queue import Group

__all__ = [
    "Backend",
    "BadOrigin",
    "EndpointOptions",
    "Group",
    "Limits",
    "OpenToAll",
    "Server",
    "serve_from_processes",
    "serve_in_thread",
    "serve_until_signal",
]
