"""How a song is heard: decoding, loudness, pulse, bars, sections and key. `song.listen` is the whole of it."""
