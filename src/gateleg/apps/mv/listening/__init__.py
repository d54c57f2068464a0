"""Audio analysis: decoding, loudness, beats, bars, sections and key. `song.listen` runs all of it."""
