"""The overview, the first page of the console."""

from gateleg.web.console.overview.page import register

__all__ = ["register"]
