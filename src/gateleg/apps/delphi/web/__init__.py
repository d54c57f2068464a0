"""Delphi in a host: its API and its pages."""
