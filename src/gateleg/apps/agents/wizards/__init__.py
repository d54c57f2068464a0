"""Wizards: forms of elements that match a schema, groups of them, and filters that choose a group for somebody.

`criteria` and `patterns` decide about values, `checks` about wizards and answers; all three are pure. `forms` has the use cases of elements
and wizards, `groups` those of groups and their wizards together, `choice` those of filters.
"""
