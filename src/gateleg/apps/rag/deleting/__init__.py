"""Use cases: remove collections, documents and repositories for good, as jobs that go on where they were interrupted.

A job first makes sure that nothing is added any more: the status keeps new ingestions out, and those that run are cancelled and waited
for. Then it removes everything, and counts: anything that is left makes it begin again.
"""
