"""Objects in a bucket of Amazon S3, or of anything that speaks its protocol. botocore is imported at the first request, not before."""

from gateleg.objects.s3.store import S3Objects

__all__ = ["S3Objects"]
