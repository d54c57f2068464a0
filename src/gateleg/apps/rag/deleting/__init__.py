"""Remove collections, documents and repositories for good, by jobs that can be interrupted and repeated.

A job first prevents additions: the status refuses new ingestions, and running ones are cancelled and awaited. Then it removes everything
and counts what is left; if anything is, the job fails and is retried.
"""
