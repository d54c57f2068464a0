"""Claiming jobs and keeping their leases."""
