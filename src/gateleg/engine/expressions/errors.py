"""Errors in expressions, before the name of the parameter is prepended."""


class InvalidExpression(Exception):
    """An error in an expression's text, names or values; `message` follows `Invalid <Parameter>: ` in DynamoDB's message."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
