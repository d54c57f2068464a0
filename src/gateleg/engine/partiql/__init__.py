"""DynamoDB's PartiQL, from the text of a statement to reads and writes.

`grammar` has the tokens, the tree and the expressions, `statements` parses a statement and resolves it to a command, `conditions` turns its
parts into condition and update expressions; `selects` runs a SELECT, `writes` the others, alone, in batches and in transactions.
"""
