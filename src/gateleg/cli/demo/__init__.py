"""Sample data: tables for an endpoint, and a small application for `gateleg up --demo`."""

from gateleg.cli.demo.samples import TABLE, load

__all__ = ["TABLE", "load"]
