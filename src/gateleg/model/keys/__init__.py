"""Keys: templates, key parts, and the plans that build keys from attributes."""
