"""Scene texts and lyrics."""
