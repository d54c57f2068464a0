"""Keys: templates over attributes, their parts and components."""
