"""Errors in PartiQL statements: syntax errors, and statements that DynamoDB does not support."""

from gateleg.engine.errors import EngineError, validation

#: Start and end offset of a part of a statement.
TextRange = tuple[int, int]


class StatementError(Exception):
    """An error in a statement: DynamoDB's message, and the part it refers to, if any."""

    def __init__(self, message: str, text_range: TextRange | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.text_range = text_range

    def error(self, text: str) -> EngineError:
        """The error for the response, with the position as line, column and length."""
        if self.text_range is None:
            return validation(self.message)
        start, end = self.text_range
        line = text.count("\n", 0, start) + 1
        column = start - (text.rfind("\n", 0, start) + 1) + 1
        return validation(f"{self.message} at {line}:{column}:{end - start}")


def malformed(detail: str = "") -> StatementError:
    """A syntax error. DynamoDB gives no detail if a token cannot be read."""
    return StatementError(f"Statement wasn't well formed, can't be processed: {detail}")
