"""The engine over HTTP: the DynamoDB JSON protocol, for boto3, the AWS CLI and every other SDK."""

from gateleg.endpoint.backend import Backend, Group
from gateleg.endpoint.errors import BadOrigin, OpenToAll
from gateleg.endpoint.limits import Limits
from gateleg.endpoint.options import EndpointOptions
from gateleg.endpoint.processes import serve_from_processes
from gateleg.endpoint.server import Server, serve_in_thread, serve_until_signal

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
