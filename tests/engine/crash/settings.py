"""How hard the crash tests try: `CRASH_ROUNDS` and `CRASH_SEED` in the environment; the seed is printed when a test fails."""

import os

ROUNDS = int(os.environ.get("CRASH_ROUNDS", "12"))
SEED = int(os.environ.get("CRASH_SEED", "20260101"))
