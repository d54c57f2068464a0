"""The HTTP surfaces of agents beside GraphQL: runs, their events, OpenAI's API and MCP."""
