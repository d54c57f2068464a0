"""DynamoDB's PartiQL: statements from their text to what they read and write.

`requests` takes a statement from its text to its meaning (`tokens`, `grammar`, `statements`, then `commands`); `planning` and `reading`
run a SELECT, `writing` runs the others, `batches` and `transactions` run several.
"""
