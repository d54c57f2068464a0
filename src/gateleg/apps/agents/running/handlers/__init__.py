"""Handlers ask the models of agents: one per provider, and those that packages register."""
