"""The numbered migrations of agents. `gateleg migrate` plans, applies, verifies and undoes them."""
