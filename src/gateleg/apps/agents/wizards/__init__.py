"""Wizards: forms of elements that match a schema, groups of wizards, and filters that choose a group for a user.

`criteria` and `patterns` check values, `checks` checks wizards and answers; all three are pure. The use cases are in `forms` (elements and
wizards), `groups` (groups with their wizards) and `choice` (filters).
"""
