"""DynamoDB's PartiQL, from the text of a statement to reads and writes.

`requests` parses a statement and resolves it to a command (`tokens`, `grammar`, `statements`, then `commands`); `select_plan` and `selects`
run a SELECT, `writes` runs the others, `batches` and `transactions` run several statements.
"""
