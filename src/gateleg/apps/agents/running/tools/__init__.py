"""The tools of agents: tools of applications and of MCP servers."""
