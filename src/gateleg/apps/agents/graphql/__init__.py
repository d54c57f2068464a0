"""GraphQL for agents: the schema, what it is read through, and the page for trying it."""
