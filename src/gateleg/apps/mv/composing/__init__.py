"""How pictures and a song become a file: clips, transitions, mastering, assembly, and the check for flashes."""
