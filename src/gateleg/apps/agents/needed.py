"""What the extra `agents` installs, by the names under which it is imported."""

NEEDED = ("strawberry", "mcp")
