"""The HTTP side of music videos: what clients send and see."""
