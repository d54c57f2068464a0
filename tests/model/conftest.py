"""What all tests of the model share."""

from hypothesis import settings

# No test asserts a time, and neither does hypothesis for it.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
