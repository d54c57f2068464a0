"""What document collections refuse: one class for each kind of failure, with a code, an HTTP status, what happened and what to do."""

from gateleg.errors import GatelegError


class RagError(GatelegError):
    """Something that document collections refuse, or could not do."""

    code = "rag"
    status = 422


class UnknownRepository(RagError):
    """A repository that does not exist, or that the caller may not know of."""

    code = "unknown-repository"
    status = 404
    fix = "List the repositories that you can read with GET /repository."


class UnknownCollection(RagError):
    """A collection that does not exist in its repository, or that the caller may not know of."""

    code = "unknown-collection"
    status = 404
    fix = "List the collections that you can read with GET /repository/{repositoryId}/collections."


class UnknownDocument(RagError):
    """A document that does not exist in its repository, or that the caller may not know of."""

    code = "unknown-document"
    status = 404
    fix = "List the documents that you can read with GET /repository/{repositoryId}/document."


class AccessDenied(RagError):
    """Something that the caller may read, but not do."""

    code = "access-denied"
    status = 403
    fix = "Ask the creator, a RAG administrator of the repository, or an administrator of the host."


class RepositoryExists(RagError):
    """A repository id that is taken."""

    code = "repository-exists"
    status = 409
    fix = "Choose another repositoryId."


class NameTaken(RagError):
    """A collection name that another collection of the repository has, in whatever letter case."""

    code = "name-taken"
    status = 409
    fix = "Choose another name. Collections that were deleted keep their names until they are purged."


class NotActive(RagError):
    """A collection or repository in a status that does not allow what was asked."""

    code = "not-active"
    status = 409
    fix = "Unarchive or restore the collection first, or wait for its deletion to end."


class StaleVersion(RagError):
    """A change that was based on an older version."""

    code = "stale-version"
    status = 412
    fix = "Read it again, and send the change with the new ETag in If-Match."


class ImmutableField(RagError):
    """A change of a field that is fixed when its item is created."""

    code = "immutable-field"
    status = 422
    fix = "Leave the field out, or create a new collection and ingest its documents there."


class BadField(RagError):
    """A value that a field does not accept."""

    code = "bad-field"
    status = 422


class BadGroups(RagError):
    """Groups of a collection that its repository does not have."""

    code = "bad-groups"
    status = 422
    fix = "Name groups of the repository only, or leave allowedGroups out to inherit them."


class DefaultCollection(RagError):
    """Something that cannot be done with the default collection of a repository."""

    code = "default-collection"
    status = 409
    fix = "Delete it with hardDelete=true to purge its documents, or delete its repository."
