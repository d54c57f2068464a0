"""Delphi: from votes and comments to opinion maps."""
