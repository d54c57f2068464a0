"""Poems: an application of somebody else on Gateleg."""
