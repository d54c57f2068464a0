"""How a song becomes scenes: director presets, and where the cuts fall."""
