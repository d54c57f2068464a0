"""DynamoDB's PartiQL, from the text of a statement to reads and writes.

`grammar` has the tokens, the tree and the expressions, `statements` parses a statement and resolves it to a command, `conditions` turns its
parts into condition and update expressions, and `selects` runs a SELECT. `operations/partiql.py` runs the others, alone, in batches and
in transactions.
"""
