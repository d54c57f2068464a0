"""How PartiQL statements are refused: texts that do not parse, and statements that parse but mean nothing to DynamoDB."""

from gateleg.engine.errors import EngineError, validation

#: Where a part of a statement stands: the offsets of its first character and of the one after its last.
Place = tuple[int, int]


class Refusal(Exception):
    """A fault of a statement: DynamoDB's words, and the part that they point at, if they point at one."""

    def __init__(self, message: str, place: Place | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.place = place

    def error(self, text: str) -> EngineError:
        """The fault as an answer; places are told as line, column and length."""
        if self.place is None:
            return validation(self.message)
        start, end = self.place
        line = text.count("\n", 0, start) + 1
        column = start - (text.rfind("\n", 0, start) + 1) + 1
        return validation(f"{self.message} at {line}:{column}:{end - start}")


def malformed(detail: str = "") -> Refusal:
    """A text that is not PartiQL. DynamoDB tells nothing more where a word cannot be read at all."""
    return Refusal(f"Statement wasn't well formed, can't be processed: {detail}")
