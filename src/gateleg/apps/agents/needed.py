"""The packages of the extra `agents`, by import name."""

NEEDED = ("strawberry", "mcp")
