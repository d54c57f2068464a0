"""The tools of agents: those that applications offer, and those of MCP servers."""
