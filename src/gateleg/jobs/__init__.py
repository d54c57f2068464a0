"""A job queue on DynamoDB: submit, claim, lease, retry, tree, schedule, log, archive; and the worker."""
