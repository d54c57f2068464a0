"""The GraphQL API of agents: schema, resolvers, limits, and an interactive page."""
