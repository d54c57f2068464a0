"""The HTTP APIs of agents besides GraphQL (runs, events, OpenAI's API, MCP), and the console pages."""
