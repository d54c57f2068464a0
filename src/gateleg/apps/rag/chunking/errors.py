"""What is refused about chunking."""

from gateleg.errors import GatelegError


class BadChunking(GatelegError):
    """A chunking strategy that cannot be followed. `field` names what is wrong with it."""

    code = "bad-chunking"
    status = 422
    fix = "Give type, chunkSize (100 to 10000), chunkOverlap (at most half of chunkSize) and, for RECURSIVE, separators."

    def __init__(self, message: str, *, field: str, fix: str | None = None) -> None:
        super().__init__(message, fix=fix)
        self.field = field
        self.details = {"field": field}
