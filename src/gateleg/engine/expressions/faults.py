"""What is wrong with an expression, in DynamoDB's words, before the name of the expression's parameter is put in front."""


class Fault(Exception):
    """A fault of an expression's text, names or values; `message` is what DynamoDB says after `Invalid <Parameter>: `."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
