"""The packages of the extra `agents`, by import name."""

PACKAGES = ("strawberry", "mcp")
