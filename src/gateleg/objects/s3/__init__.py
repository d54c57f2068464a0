"""Objects in a bucket of Amazon S3 or of a compatible service. botocore is imported at the first request."""

from gateleg.objects.s3.store import S3Objects

__all__ = ["S3Objects"]
