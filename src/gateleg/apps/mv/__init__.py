"""Music videos from a song and a sentence."""
