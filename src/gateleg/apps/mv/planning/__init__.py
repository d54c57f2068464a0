"""Divide a song into scenes: director presets and the placement of cuts."""
